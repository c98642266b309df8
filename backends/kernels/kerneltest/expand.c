#include "expand.h"

#include "_cgo_export.h"

/* The types that package quant knows, by their numbers in the GGUF format. */
#define EACH_TYPE(X) X(1) X(2) X(3) X(6) X(7) X(8) X(10) X(11) X(12) X(13) X(14) X(20) X(30) X(39)

#define EXPAND(type)                                                          \
    static void expand_##type(const void *blocks, float *floats, int64_t n) { \
        kerneltestDecode(type, (void *)blocks, floats, n);                    \
    }
EACH_TYPE(EXPAND)

kernels_expand *kerneltest_expand(int32_t type) {
    switch (type) {
#define CASE(type) \
    case type:     \
        return expand_##type;
        EACH_TYPE(CASE)
        default:
            return NULL;
    }
}
