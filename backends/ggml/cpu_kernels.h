/*
 * Kernels of our own, for what ggml's CPU backend lacks, does otherwise than the
 * operator table says, or does element by element. They run as ggml's custom
 * operators, on its threads.
 */
#ifndef SHIM_CPU_KERNELS_H
#define SHIM_CPU_KERNELS_H

#include "cpu_variants.h"

namespace shim {

/* All take their inputs from dst->src; ith and nth say which part of the work is theirs. */
using kernel = void(ggml_tensor *dst, int ith, int nth, void *);

kernel concat_kernel;   // dense inputs, one behind the other along ggml's axis number 0
kernel where_kernel;    // src[0] != 0 ? src[1] : src[2], each broadcast to dst
kernel maximum_kernel;  // the larger of src[0] and src[1], each broadcast to dst
kernel minimum_kernel;
kernel argmax_kernel;   // for each dense row the place of its first NaN, else of the first of its largest elements
kernel row_max_kernel;  // NaN where a row has one
kernel
    top_k_kernel;  // for each dense row the dst->ne[0] largest, NaN before all, first of equals first; then, as i32, where they are
kernel pad_kernel;   // src[0], f32 with packed rows, number d zeros before it along ggml's axis d, zeros behind it
kernel cast_kernel;  // between f32 and the integers, dense
// Of these two the last number is the processor that their scratch memory was measured for.
kernel product_kernel;  // src[0] x, src[1] weight as for ggml's product, src[2] scratch memory, src[3] bias, if any
kernel
    conv_kernel;  // sources likewise; numbers: stride, zeros before, dilation, for h and w each, whether channels last
kernel slice_kernel;        // src[0] with any strides; numbers: ggml's axis; in halves the first element, and the step
kernel clamp_kernel;        // src[0], packed rows, at least number 0 and at most number 1; NaN stays
kernel leaky_relu_kernel;   // src[0], packed rows; number 0 is the slope below 0
kernel cumsum_kernel;       // src[0], dense, along ggml's axis number 0
kernel norm_kernel;         // src[0], dense, then weight and bias, if any, as in cpu_norm.h; numbers: see SHIM_NORM
kernel snake_kernel;        // src[0] x, dense, its channels along ggml's axis 1; src[1] alpha, src[2] beta
kernel rope_angles_kernel;  // src[0] positions, src[1] frequencies as in cpu_rope.h; number 0: whether interleaved
kernel rope_kernel;         // src[0] x, src[1] angles as in cpu_rope.h; number 0: whether interleaved
/*
 * src[0] q, src[1] k, src[2] scratch memory, src[3] v as in cpu_attention.h, then the mask
 * and the positions, if any; numbers: see SHIM_ATTENTION. combine_kernel makes dst of
 * src[0], the chunks' results.
 */
kernel attention_kernel;
kernel combine_kernel;
kernel lstm_kernel;  // see lower_recurrent.go: src[0..1] the products, src[2] c, src[3..4] biases, if any

kernel
    check_kernel;  // see cpu_check.cpp: src[0] the product, where dst lies, src[1] x, src[2] weight, src[3] bias, if any

element_type element_type_of(ggml_type type);

/* The product of x and a weight, without memory; bias may be null. */
product product_of(const ggml_tensor *x, const ggml_tensor *w, const ggml_tensor *bias, ggml_tensor *y);

/* Whether a custom operator runs this kernel. */
bool runs(const ggml_tensor *t, kernel *k);

constexpr int measured_number = 7;

/* SHIM_NUMBERS numbers that go with the operator. */
int32_t *kernel_numbers(ggml_tensor *dst);

}  // namespace shim

#endif
