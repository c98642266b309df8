/* What a library built with the tag qtsatest has besides, for tests only. */
#ifndef TESTS_HOOKS_H
#define TESTS_HOOKS_H

#include "qtsaccel.h"

/* Panics inside Go: 0 with a text, 1 through a nil pointer, 2 with an error. */
qtsa_status qtsa_test_panic(int32_t how);

/* Objects of all kinds that are not released yet. */
int64_t qtsa_test_objects(void);

/* Bytes of tensors in host memory outside Go's heap. */
int64_t qtsa_test_tensor_bytes(void);

/* Allocations on Go's heap so far. */
uint64_t qtsa_test_allocations(void);

/* Logs "a line of the library's own". */
void qtsa_test_log(int32_t level);

#endif
