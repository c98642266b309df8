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

shim_tensor shim_op_view(shim_graph b, shim_tensor x, const int64_t ne[4], const size_t nb[4], size_t offset) {
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
shim_tensor shim_op_permute(shim_graph b, shim_tensor x, const int32_t to[4]) {
    NODE(with_plain_single_axes(gg.permute(c, x, to[0], to[1], to[2], to[3])));
}
shim_tensor shim_op_as_i32(shim_graph b, shim_tensor x) {
    return b->node([&](ggml_context *c) {
        ggml_tensor *v = gg.view_4d(c, x, x->ne[0], x->ne[1], x->ne[2], x->ne[3], x->nb[1], x->nb[2], x->nb[3], 0);
        v->type = GGML_TYPE_I32;
        return v;
    });
}

shim_tensor shim_op_ggml_mul_mat(shim_graph b, shim_tensor w, shim_tensor x) {
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
shim_tensor shim_op_checked(shim_graph b, shim_tensor y, shim_tensor x, shim_tensor w, shim_tensor bias) {
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
shim_tensor shim_op_flash_attention(shim_graph b, shim_tensor q, shim_tensor k, shim_tensor v, shim_tensor mask,
                                    float scale) {
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
shim_tensor shim_op_row_max(shim_graph b, shim_tensor x) {
    const int n = static_cast<int>(x != nullptr ? x->ne[0] : 1);
    NODE(gg.pool_2d(c, x, GGML_OP_POOL_MAX, n, 1, n, 1, 0, 0));
}

shim_tensor shim_scratch(shim_graph b, int64_t bytes) { NODE(b->scratch_of(c, bytes)); }
shim_tensor shim_kernel(shim_graph b, const void *kernel, int32_t type, const int64_t ne[4], const shim_tensor *inputs,
                        int32_t n_inputs, const int32_t *numbers) {
    NODE(shim::run_kernel(c, static_cast<const kernels_kernel *>(kernel), ggml_type(type), ne, inputs, n_inputs,
                          numbers, KERNELS_NUMBERS));
}
