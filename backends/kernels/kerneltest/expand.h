#include "../kernels.h"

/* A function that expands blocks of a type by package quant; null where there is none. */
kernels_expand *kerneltest_expand(int32_t type);
