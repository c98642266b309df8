#include "graph_cost.h"

#include "cpu_kernels.h"

namespace {

// Of one core of a present machine: what it reads and writes, and multiplies, in a
// nanosecond; and what it takes until threads have met, on CPUs of their own.
constexpr double bytes_per_ns = 10, flops_per_ns = 40;
constexpr double meeting_ns = 700, wake_up_ns = 5000;

}  // namespace

void shim::graph_cost::add(const ggml_tensor *t) {
    switch (t->op) {
        case GGML_OP_NONE:
        case GGML_OP_VIEW:
        case GGML_OP_RESHAPE:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE:
            return;
        default:
            break;
    }
    double bytes = double(gg.nbytes(t));
    // Of a product's, a convolution's and an attention's sources this is scratch memory, which stays in
    // the cache, and of a check's the weight, which is rarely read.
    const bool leaves_out_2 =
        t->op == GGML_OP_CUSTOM && (shim::runs(t, shim::product_kernel) || shim::runs(t, shim::conv_kernel) ||
                                    shim::runs(t, shim::attention_kernel) || shim::runs(t, shim::check_kernel));
    for (int i = 0; i < GGML_MAX_SRC && t->src[i] != nullptr; i++) {
        if (t->op == GGML_OP_GET_ROWS) continue;  // of a table only the rows that are asked for are read
        if (leaves_out_2 && i == 2) continue;
        bytes += double(gg.nbytes(t->src[i]));
    }
    ns += bytes / bytes_per_ns;
    steps++;
}

bool shim::graph_cost::worth_sharing(int threads, double flops) const {
    return (ns + flops / flops_per_ns) * (1 - 1.0 / threads) > double(steps) * meeting_ns + wake_up_ns;
}
