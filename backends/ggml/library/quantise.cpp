#include "guard.h"
#include "library.h"
#include "table.h"

int32_t shim_quantise(int32_t type, const float *src, void *dst, int64_t rows, int64_t per_row,
                      const float *importance) {
    return shim::guarded(
        [&] { gg.quantize_chunk(static_cast<ggml_type>(type), src, dst, 0, rows, per_row, importance); });
}
