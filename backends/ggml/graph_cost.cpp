#include "graph_cost.h"

#include "kernel.h"

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
    // Scratch memory stays in the cache.
    const kernels_kernel *kernel = shim::kernel_of(t);
    const int left_out = kernel != nullptr ? kernel->cached : -1;
    for (int i = 0; i < GGML_MAX_SRC && t->src[i] != nullptr; i++) {
        if (t->op == GGML_OP_GET_ROWS) continue;  // of a table only the rows that are asked for are read
        if (i == left_out) continue;
        bytes += double(gg.nbytes(t->src[i]));
    }
    ns += bytes / bytes_per_ns;
    steps++;
}

bool shim::graph_cost::worth_sharing(int threads, double flops) const {
    return (ns + flops / flops_per_ns) * (1 - 1.0 / threads) > double(steps) * meeting_ns + wake_up_ns;
}
