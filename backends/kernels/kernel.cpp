#include "kernel.h"

namespace {

// Constant before any entry is constructed, in whatever order.
const kernels_kernel *first = nullptr;

}  // namespace

kernels::kernel::kernel(const char *name, kernels_run *run, const kernels_operator &as_operator, int32_t cached)
    : kernels_kernel{name, run, cached, as_operator, first} {
    first = this;
}

const kernels_kernel *kernels_first(void) { return first; }
