#include "spare_memory.h"

namespace {

constexpr size_t largest = 16 << 20, most = 128 << 20;

// A buffer may be larger than what is asked for by this, or fourfold.
constexpr size_t slack = 4096;

}  // namespace

ggml_backend_buffer_t shim::spare_memory::take(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    size_t best = buffers.size();
    for (size_t i = 0; i < buffers.size(); i++) {
        const size_t size = gg.backend_buffer_get_size(buffers[i]);
        if (size < bytes || size > 4 * bytes + slack) continue;
        if (best == buffers.size() || size < gg.backend_buffer_get_size(buffers[best])) best = i;
    }
    if (best == buffers.size()) return nullptr;
    ggml_backend_buffer_t buffer = buffers[best];
    buffers[best] = buffers.back();
    buffers.pop_back();
    kept -= gg.backend_buffer_get_size(buffer);
    gg.backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_ANY);
    return buffer;
}

void shim::spare_memory::give(ggml_backend_buffer_t buffer) {
    const size_t size = gg.backend_buffer_get_size(buffer);
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (size <= largest && kept + size <= most) {
            buffers.push_back(buffer);
            kept += size;
            return;
        }
    }
    gg.backend_buffer_free(buffer);
}

void shim::spare_memory::free_all() {
    const std::lock_guard<std::mutex> lock(mutex);
    for (ggml_backend_buffer_t buffer : buffers) gg.backend_buffer_free(buffer);
    buffers.clear();
    kept = 0;
}
