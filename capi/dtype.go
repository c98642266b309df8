package main

// #include "const_types.h"
import "C"

//export go_qtsa_tensor_bytes
func go_qtsa_tensor_bytes(dtype C.qtsa_dtype, shape *C.const_int64_t, rank C.int32_t, outBytes *C.size_t) C.qtsa_status {
	return guard(func() error {
		t, err := tensorType(dtype, shape, rank)
		if err != nil {
			return err
		}
		if err := t.Check(false); err != nil {
			return err
		}
		*outBytes = C.size_t(t.Bytes())
		return nil
	})
}
