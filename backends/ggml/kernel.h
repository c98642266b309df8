/*
 * The kernels of package kernels as ggml's custom operators, on its threads. This is all
 * that connects the two.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include "../kernels/kernels.h"
#include "library/table.h"

namespace shim {

/* A tensor that the CPU computes by a kernel from inputs, of which each is given, and numbers. */
ggml_tensor *run_kernel(ggml_context *c, const kernels_kernel *k, ggml_type type, const int64_t ne[4],
                        ggml_tensor *const *inputs, int n_inputs, const int32_t *numbers, int n_numbers);

/* The same in the place of the first input. */
ggml_tensor *run_kernel_inplace(ggml_context *c, const kernels_kernel *k, ggml_tensor *const *inputs, int n_inputs,
                                const int32_t *numbers, int n_numbers);

/* The kernel that computes a tensor, null where none does. */
const kernels_kernel *kernel_of(const ggml_tensor *t);

/* The kernel of that name. */
const kernels_kernel *kernel_named(const char *name);

}  // namespace shim

#endif
