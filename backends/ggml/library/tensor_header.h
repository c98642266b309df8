#ifndef SHIM_TENSOR_HEADER_H
#define SHIM_TENSOR_HEADER_H

#include <memory>

#include "guard.h"
#include "table.h"

namespace shim {

struct free_context {
    void operator()(ggml_context *c) const { gg.free(c); }
};
using context = std::unique_ptr<ggml_context, free_context>;

/* A ggml context for so many bytes of headers; it holds no tensor's data. */
inline context new_context(size_t bytes) {
    ggml_init_params params = {bytes, nullptr, true};
    context c(gg.init(params));
    if (c == nullptr) throw std::bad_alloc();
    return c;
}

/* One tensor in a context of its own, to reach a piece of memory through. */
struct tensor_header {
    context owner;
    ggml_tensor *tensor;

    tensor_header(int32_t type, const int64_t ne[4])
        : owner(new_context(gg.tensor_overhead())),
          tensor(gg.new_tensor(owner.get(), static_cast<ggml_type>(type), GGML_MAX_DIMS, ne)) {}
};

}  // namespace shim

#endif
