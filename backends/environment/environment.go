// Package environment reads the process's environment: nothing else in the library
// does. It asks C, since a host may set variables after the library was loaded, when
// Go has its own copy already; and it gives nothing at all where the process runs with
// other rights than those of whoever started it (set-user-id, capabilities), for then
// the environment is a stranger's: a folder of plugins or a cache named in it would be
// loaded with the host's rights.
package environment

// #include <stdlib.h>
// #include "environment.h"
import "C"

import "unsafe"

// Get reads a variable, "" if unset, or if the environment is not to be trusted.
func Get(name string) string {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.GoString(C.environment_get(c))
}

// All gives the whole environment as it is now, for a child that inherits it; nothing
// if it is not to be trusted.
func All() []string {
	var list []string
	for p := C.environment_all(); p != nil && *p != nil; p = (**C.char)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(p))) {
		list = append(list, C.GoString(*p))
	}
	return list
}
