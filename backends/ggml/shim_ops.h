/*
 * ggml's operators for the lowering, each a line over the function of its name:
 * see shim.h for what happens when one fails. Extents and strides are in ggml's
 * order, innermost first.
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

shim_tensor shim_add(shim_graph b, shim_tensor x, shim_tensor y);
shim_tensor shim_sub(shim_graph b, shim_tensor x, shim_tensor y);
shim_tensor shim_mul(shim_graph b, shim_tensor x, shim_tensor y);
shim_tensor shim_div(shim_graph b, shim_tensor x, shim_tensor y);
shim_tensor shim_unary(shim_graph b, int32_t op, shim_tensor x);
shim_tensor shim_sqr(shim_graph b, shim_tensor x);
shim_tensor shim_sqrt(shim_graph b, shim_tensor x);
shim_tensor shim_log(shim_graph b, shim_tensor x);
shim_tensor shim_sin(shim_graph b, shim_tensor x);
shim_tensor shim_cos(shim_graph b, shim_tensor x);
shim_tensor shim_scale(shim_graph b, shim_tensor x, float scale, float bias);
shim_tensor shim_clamp(shim_graph b, shim_tensor x, float least, float most);
shim_tensor shim_leaky_relu(shim_graph b, shim_tensor x, float slope);
shim_tensor shim_swiglu(shim_graph b, shim_tensor gate, shim_tensor up);
shim_tensor shim_repeat(shim_graph b, shim_tensor x, const int64_t ne[4]);

shim_tensor shim_cont(shim_graph b, shim_tensor x);
shim_tensor shim_cast(shim_graph b, shim_tensor x, int32_t type);
shim_tensor shim_cpy(shim_graph b, shim_tensor x, shim_tensor into);
shim_tensor shim_reshape(shim_graph b, shim_tensor x, const int64_t ne[4]);
shim_tensor shim_view(shim_graph b, shim_tensor x, const int64_t ne[4], const size_t nb[4], size_t offset);
shim_tensor shim_permute(shim_graph b, shim_tensor x, const int32_t to[4]);
/* The low halves of i64 as strided i32. */
shim_tensor shim_low_halves(shim_graph b, shim_tensor x);
/* The bits of f32, or of part of it, as i32. */
shim_tensor shim_as_i32(shim_graph b, shim_tensor x);

/* With f32 sums on every device. */
shim_tensor shim_mul_mat(shim_graph b, shim_tensor w, shim_tensor x);
/*
 * On the CPU: y, which is shim_mul_mat of x and of w in some layout, plus a bias, which
 * may be null; with what ggml's rounding of x spoils computed anew from w, the weight as
 * it is stored. It lies where y does, of which there is to be no other use.
 */
shim_tensor shim_checked(shim_graph b, shim_tensor y, shim_tensor x, shim_tensor w, shim_tensor bias);
shim_tensor shim_norm(shim_graph b, shim_tensor x, float eps);
shim_tensor shim_rms_norm(shim_graph b, shim_tensor x, float eps);
shim_tensor shim_group_norm(shim_graph b, shim_tensor x, int32_t groups, float eps);
shim_tensor shim_soft_max(shim_graph b, shim_tensor x);
shim_tensor shim_soft_max_ext(shim_graph b, shim_tensor x, shim_tensor mask, float scale);
shim_tensor shim_rope(shim_graph b, shim_tensor x, shim_tensor positions, int32_t dims, int32_t mode, float base,
                      float scale);
shim_tensor shim_flash_attn(shim_graph b, shim_tensor q, shim_tensor k, shim_tensor v, shim_tensor mask, float scale);
shim_tensor shim_sum_rows(shim_graph b, shim_tensor x);
shim_tensor shim_cumsum(shim_graph b, shim_tensor x);
shim_tensor shim_mean(shim_graph b, shim_tensor x);
shim_tensor shim_concat(shim_graph b, shim_tensor x, shim_tensor y, int32_t axis);
/* before[d] zeros before and after[d] behind ggml's axis d. */
shim_tensor shim_pad(shim_graph b, shim_tensor x, const int32_t before[4], const int32_t after[4]);
shim_tensor shim_pad_reflect(shim_graph b, shim_tensor x, int32_t before, int32_t after);
shim_tensor shim_upscale_nearest(shim_graph b, shim_tensor x, const int64_t ne[4]);
/* The windows that a kernel meets, f32 [ic * kh * kw, ow, oh, n]; step is {x, y} each. */
shim_tensor shim_im2col(shim_graph b, shim_tensor kernel, shim_tensor x, const int32_t stride[2],
                        const int32_t padding[2], const int32_t dilation[2], bool two_d);
shim_tensor shim_conv_2d_depthwise(shim_graph b, shim_tensor kernel, shim_tensor x, const int32_t stride[2],
                                   const int32_t padding[2], const int32_t dilation[2]);
shim_tensor shim_row_max(shim_graph b, shim_tensor x);

/*
 * Scratch memory for kernels of our own on the CPU. All of a graph share it: it is as
 * much as the largest needs.
 */
shim_tensor shim_scratch(shim_graph b, int64_t bytes);
/* A kernel of our own, a struct kernels_kernel, of up to KERNELS_INPUTS inputs and with KERNELS_NUMBERS numbers. */
shim_tensor shim_kernel(shim_graph b, const void *kernel, int32_t type, const int64_t ne[4], const shim_tensor *inputs,
                        int32_t n_inputs, const int32_t *numbers);

shim_tensor shim_get_rows(shim_graph b, shim_tensor x, shim_tensor ids);
shim_tensor shim_set_rows(shim_graph b, shim_tensor x, shim_tensor values, shim_tensor ids);

#ifdef __cplusplus
}
#endif

#endif
