#include "kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "library/guard.h"

namespace {

/* ggml's types by number, as kernels take them. */
const kernels_type *kernels_type_of(ggml_type type) {
    static const auto types = [] {
        std::array<kernels_type, GGML_TYPE_COUNT> list;
        for (int i = 0; i < GGML_TYPE_COUNT; i++) {
            const ggml_type_traits *t = gg.get_type_traits(ggml_type(i));
            list[i] = {i, t->blck_size, t->type_size, t->to_float};
        }
        return list;
    }();
    return &types[type];
}

kernels_tensor view_of(const ggml_tensor *t) { return {kernels_type_of(t->type), t->ne, t->nb, t->data}; }

/* What ggml keeps of a custom operator, at the front of its parameters. */
struct custom_op {
    ggml_custom_op_t run;
    int tasks;
    void *user;
};

custom_op custom_op_of(const ggml_tensor *t) {
    custom_op op;
    std::memcpy(&op, t->op_params, sizeof op);
    return op;
}

// The numbers are behind that, at the end.
constexpr size_t first_number = GGML_MAX_OP_PARAMS / sizeof(int32_t) - KERNELS_NUMBERS;
static_assert(sizeof(custom_op) <= first_number * sizeof(int32_t), "both fit into ggml's parameters");
static_assert(KERNELS_INPUTS <= GGML_MAX_SRC - 1, "the inputs, and what an operator in place computes in");

void run(ggml_tensor *dst, int ith, int nth, void *kernel) {
    kernels_tensor in[GGML_MAX_SRC];
    kernels_call call = {view_of(dst), in, 0, dst->op_params + first_number};
    for (; call.inputs < GGML_MAX_SRC && dst->src[call.inputs] != nullptr; call.inputs++) {
        in[call.inputs] = view_of(dst->src[call.inputs]);
    }
    static_cast<const kernels_kernel *>(kernel)->run(&call, ith, nth);
}

void *user_of(const kernels_kernel *k) { return const_cast<kernels_kernel *>(k); }

}  // namespace

ggml_tensor *shim::run_kernel(ggml_context *c, const kernels_kernel *k, ggml_type type, const int64_t ne[4],
                              ggml_tensor *const *inputs, int n_inputs, const int32_t *numbers, int n_numbers) {
    ggml_tensor *y = gg.custom_4d(c, type, ne[0], ne[1], ne[2], ne[3], const_cast<ggml_tensor **>(inputs), n_inputs,
                                  run, GGML_N_TASKS_MAX, user_of(k));
    std::copy_n(numbers, n_numbers, y->op_params + first_number);
    return y;
}

ggml_tensor *shim::run_kernel_inplace(ggml_context *c, const kernels_kernel *k, ggml_tensor *const *inputs,
                                      int n_inputs, const int32_t *numbers, int n_numbers) {
    ggml_tensor *y = gg.custom_inplace(c, inputs[0], const_cast<ggml_tensor **>(inputs + 1), n_inputs - 1, run,
                                       GGML_N_TASKS_MAX, user_of(k));
    std::copy_n(numbers, n_numbers, y->op_params + first_number);
    return y;
}

const kernels_kernel *shim::kernel_of(const ggml_tensor *t) {
    if (t->op != GGML_OP_CUSTOM) return nullptr;
    const custom_op op = custom_op_of(t);
    return op.run == run ? static_cast<const kernels_kernel *>(op.user) : nullptr;
}

const kernels_kernel *shim::kernel_named(const char *name) {
    for (const kernels_kernel *k = kernels_first(); k != nullptr; k = k->next) {
        if (std::strcmp(k->name, name) == 0) return k;
    }
    fail(internal, "there is no kernel \"%s\"", name);
}
