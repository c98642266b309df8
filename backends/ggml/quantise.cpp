#include "guard.h"
#include "shim.h"
#include "table.h"

int32_t shim_quantise(int32_t type, const float *src, void *dst, int64_t n) {
    return shim::guarded([&] { gg.quantize_chunk(static_cast<ggml_type>(type), src, dst, 0, 1, n, nullptr); });
}
