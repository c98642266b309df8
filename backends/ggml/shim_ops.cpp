#include "shim_ops.h"

#include <cstring>

#include "builder.h"
#include "kernel.h"
#include "product_check.h"

#define NODE(...) return b->node([&](ggml_context *c) -> ggml_tensor * { return __VA_ARGS__; })

namespace {

/*
 * The stride along an axis of one element says nothing, and yet kernels look at it: they
 * step from row to row by the stride of the second axis whatever its extent. It becomes
 * what it would be if the elements lay side by side.
 */
ggml_tensor *with_plain_single_axes(ggml_tensor *view) {
    if (view->ne[0] == 1) view->nb[0] = gg.type_size(view->type);
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        if (view->ne[d] != 1) continue;
        view->nb[d] = d == 1 ? gg.row_size(view->type, view->ne[0]) : view->nb[d - 1] * view->ne[d - 1];
    }
    return view;
}

}  // namespace

bool shim_is_contiguous(shim_tensor x) { return gg.is_contiguous(x); }
size_t shim_type_size(shim_tensor x) { return x != nullptr ? gg.type_size(x->type) : 1; }

shim_tensor shim_add(shim_graph b, shim_tensor x, shim_tensor y) { NODE(gg.add(c, x, y)); }
shim_tensor shim_sub(shim_graph b, shim_tensor x, shim_tensor y) { NODE(gg.sub(c, x, y)); }
shim_tensor shim_mul(shim_graph b, shim_tensor x, shim_tensor y) { NODE(gg.mul(c, x, y)); }
shim_tensor shim_div(shim_graph b, shim_tensor x, shim_tensor y) { NODE(gg.div(c, x, y)); }
shim_tensor shim_unary(shim_graph b, int32_t op, shim_tensor x) { NODE(gg.unary(c, x, ggml_unary_op(op))); }
shim_tensor shim_sqr(shim_graph b, shim_tensor x) { NODE(gg.sqr(c, x)); }
shim_tensor shim_sqrt(shim_graph b, shim_tensor x) { NODE(gg.sqrt(c, x)); }
shim_tensor shim_log(shim_graph b, shim_tensor x) { NODE(gg.log(c, x)); }
shim_tensor shim_sin(shim_graph b, shim_tensor x) { NODE(gg.sin(c, x)); }
shim_tensor shim_cos(shim_graph b, shim_tensor x) { NODE(gg.cos(c, x)); }
shim_tensor shim_scale(shim_graph b, shim_tensor x, float scale, float bias) { NODE(gg.scale_bias(c, x, scale, bias)); }
shim_tensor shim_clamp(shim_graph b, shim_tensor x, float least, float most) { NODE(gg.clamp(c, x, least, most)); }
shim_tensor shim_leaky_relu(shim_graph b, shim_tensor x, float slope) { NODE(gg.leaky_relu(c, x, slope, false)); }
shim_tensor shim_swiglu(shim_graph b, shim_tensor gate, shim_tensor up) { NODE(gg.swiglu_split(c, gate, up)); }
shim_tensor shim_repeat(shim_graph b, shim_tensor x, const int64_t ne[4]) {
    NODE(gg.repeat_4d(c, x, ne[0], ne[1], ne[2], ne[3]));
}

shim_tensor shim_cont(shim_graph b, shim_tensor x) { NODE(gg.cont(c, x)); }
shim_tensor shim_cast(shim_graph b, shim_tensor x, int32_t type) { NODE(gg.cast(c, x, ggml_type(type))); }
shim_tensor shim_cpy(shim_graph b, shim_tensor x, shim_tensor into) { NODE(gg.cpy(c, x, into)); }
shim_tensor shim_reshape(shim_graph b, shim_tensor x, const int64_t ne[4]) {
    NODE(gg.reshape_4d(c, x, ne[0], ne[1], ne[2], ne[3]));
}
shim_tensor shim_view(shim_graph b, shim_tensor x, const int64_t ne[4], const size_t nb[4], size_t offset) {
    return b->node([&](ggml_context *c) {
        // ggml's own views have packed rows and no more elements than their source:
        // strides that skip or overlap are set afterwards.
        ggml_tensor *v = gg.view_4d(c, x, 1, 1, 1, 1, 0, 0, 0, offset);
        for (int d = 0; d < GGML_MAX_DIMS; d++) {
            v->ne[d] = ne[d];
            v->nb[d] = nb[d];
        }
        return with_plain_single_axes(v);
    });
}
shim_tensor shim_permute(shim_graph b, shim_tensor x, const int32_t to[4]) {
    NODE(with_plain_single_axes(gg.permute(c, x, to[0], to[1], to[2], to[3])));
}
shim_tensor shim_low_halves(shim_graph b, shim_tensor x) {
    return b->node([&](ggml_context *c) {
        ggml_tensor *v = gg.view_4d(c, x, x->ne[0], x->ne[1], x->ne[2], x->ne[3], x->nb[1], x->nb[2], x->nb[3], 0);
        v->type = GGML_TYPE_I32;
        return v;
    });
}

shim_tensor shim_as_i32(shim_graph b, shim_tensor x) {
    return b->node([&](ggml_context *c) {
        ggml_tensor *v = gg.view_4d(c, x, x->ne[0], x->ne[1], x->ne[2], x->ne[3], x->nb[1], x->nb[2], x->nb[3], 0);
        v->type = GGML_TYPE_I32;
        return v;
    });
}

shim_tensor shim_mul_mat(shim_graph b, shim_tensor w, shim_tensor x) {
    return b->node([&](ggml_context *c) {
        ggml_tensor *y = gg.mul_mat(c, w, x);
        if (gg_optional.prec_set_acc != nullptr) {
            gg_optional.prec_set_acc(y, GGML_PREC_F32);
        } else if (gg_optional.mul_mat_set_prec != nullptr) {
            gg_optional.mul_mat_set_prec(y, GGML_PREC_F32);
        }
        return y;
    });
}
shim_tensor shim_checked(shim_graph b, shim_tensor y, shim_tensor x, shim_tensor w, shim_tensor bias) {
    return b->node([&](ggml_context *c) {
        static const kernels_kernel *const check = shim::kernel_named("check");
        const shim::range range = shim::range_of_product(w->type);
        int32_t bits[2];
        std::memcpy(bits, &range, sizeof bits);
        static_assert(sizeof range == sizeof bits, "two floats");
        ggml_tensor *const inputs[] = {y, x, w, bias};
        return shim::run_kernel_inplace(c, check, inputs, bias != nullptr ? 4 : 3, bits, 2);
    });
}
shim_tensor shim_norm(shim_graph b, shim_tensor x, float eps) { NODE(gg.norm(c, x, eps)); }
shim_tensor shim_rms_norm(shim_graph b, shim_tensor x, float eps) { NODE(gg.rms_norm(c, x, eps)); }
shim_tensor shim_group_norm(shim_graph b, shim_tensor x, int32_t groups, float eps) {
    NODE(gg.group_norm(c, x, groups, eps));
}
shim_tensor shim_soft_max(shim_graph b, shim_tensor x) { NODE(gg.soft_max(c, x)); }
shim_tensor shim_soft_max_ext(shim_graph b, shim_tensor x, shim_tensor mask, float scale) {
    NODE(gg.soft_max_ext(c, x, mask, scale, 0));
}
shim_tensor shim_rope(shim_graph b, shim_tensor x, shim_tensor positions, int32_t dims, int32_t mode, float base,
                      float scale) {
    // No frequency factors and no YaRN: the last five are its.
    NODE(gg.rope_ext(c, x, positions, nullptr, dims, mode, 0, base, scale, 0, 1, 0, 0));
}
shim_tensor shim_flash_attn(shim_graph b, shim_tensor q, shim_tensor k, shim_tensor v, shim_tensor mask, float scale) {
    return b->node([&](ggml_context *c) {
        ggml_tensor *y = gg.flash_attn_ext(c, q, k, v, mask, scale, 0, 0);
        if (gg_optional.prec_set_acc != nullptr) {
            gg_optional.prec_set_acc(y, GGML_PREC_F32);
        } else if (gg_optional.flash_attn_ext_set_prec != nullptr) {
            gg_optional.flash_attn_ext_set_prec(y, GGML_PREC_F32);
        }
        return y;
    });
}
shim_tensor shim_sum_rows(shim_graph b, shim_tensor x) { NODE(gg.sum_rows(c, x)); }
shim_tensor shim_cumsum(shim_graph b, shim_tensor x) { NODE(gg.cumsum(c, x)); }
shim_tensor shim_mean(shim_graph b, shim_tensor x) { NODE(gg.mean(c, x)); }
shim_tensor shim_concat(shim_graph b, shim_tensor x, shim_tensor y, int32_t axis) { NODE(gg.concat(c, x, y, axis)); }
shim_tensor shim_pad(shim_graph b, shim_tensor x, const int32_t before[4], const int32_t after[4]) {
    NODE(gg.pad_ext(c, x, before[0], after[0], before[1], after[1], before[2], after[2], before[3], after[3]));
}
shim_tensor shim_pad_reflect(shim_graph b, shim_tensor x, int32_t before, int32_t after) {
    NODE(gg.pad_reflect_1d(c, x, before, after));
}
shim_tensor shim_upscale_nearest(shim_graph b, shim_tensor x, const int64_t ne[4]) {
    NODE(gg.interpolate(c, x, ne[0], ne[1], ne[2], ne[3], GGML_SCALE_MODE_NEAREST));
}
shim_tensor shim_im2col(shim_graph b, shim_tensor kernel, shim_tensor x, const int32_t stride[2],
                        const int32_t padding[2], const int32_t dilation[2], bool two_d) {
    // In f32 whatever the kernel's dtype: an f16 window would round the input.
    NODE(gg.im2col(c, kernel, x, stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], two_d,
                   GGML_TYPE_F32));
}
shim_tensor shim_conv_2d_depthwise(shim_graph b, shim_tensor kernel, shim_tensor x, const int32_t stride[2],
                                   const int32_t padding[2], const int32_t dilation[2]) {
    NODE(gg.conv_2d_dw_direct(c, kernel, x, stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]));
}
shim_tensor shim_row_max(shim_graph b, shim_tensor x) {
    const int n = static_cast<int>(x != nullptr ? x->ne[0] : 1);
    NODE(gg.pool_2d(c, x, GGML_OP_POOL_MAX, n, 1, n, 1, 0, 0));
}

shim_tensor shim_scratch(shim_graph b, int64_t bytes) { NODE(b->scratch_of(c, bytes)); }
shim_tensor shim_kernel(shim_graph b, const void *kernel, int32_t type, const int64_t ne[4], const shim_tensor *inputs,
                        int32_t n_inputs, const int32_t *numbers) {
    NODE(shim::run_kernel(c, static_cast<const kernels_kernel *>(kernel), ggml_type(type), ne, inputs, n_inputs,
                          numbers, KERNELS_NUMBERS));
}

shim_tensor shim_get_rows(shim_graph b, shim_tensor x, shim_tensor ids) { NODE(gg.get_rows(c, x, ids)); }
shim_tensor shim_set_rows(shim_graph b, shim_tensor x, shim_tensor values, shim_tensor ids) {
    NODE(gg.set_rows(c, x, values, ids));
}
