/*
 * ggml's operators for the lowering, by ops.list, and the kernels of our own: see shim.h
 * for what happens when one fails. Extents and strides are in ggml's order, innermost
 * first.
 */
#ifndef SHIM_OPS_H
#define SHIM_OPS_H

#include "shim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_tensor *shim_tensor;
typedef struct shim_builder *shim_graph;

bool shim_is_contiguous(shim_tensor x);
size_t shim_type_size(shim_tensor x);

#include "ops_gen.h"

/*
 * Scratch memory for kernels of our own on the CPU. All of a graph share it: it is as
 * much as the largest needs.
 */
shim_tensor shim_scratch(shim_graph b, int64_t bytes);
/* A kernel of our own, a struct kernels_kernel, of up to KERNELS_INPUTS inputs and with KERNELS_NUMBERS numbers. */
shim_tensor shim_kernel(shim_graph b, const void *kernel, int32_t type, const int64_t ne[4], const shim_tensor *inputs,
                        int32_t n_inputs, const int32_t *numbers);

#ifdef __cplusplus
}
#endif

#endif
