#include "mask.h"

#include <algorithm>
#include <limits>

#include "table.h"

namespace {

constexpr uint16_t f16_minus_infinity = 0xfc00;

/* Row j is 0 for keys in (p - window, p] and minus infinity elsewhere. */
template <class T>
void fill_rows(T *dst, int64_t n, int64_t t, int64_t window, const int32_t *positions, T hidden) {
    for (int64_t j = 0; j < t; j++, dst += n) {
        const int64_t p = positions != nullptr ? positions[j] : n - t + j;
        const int64_t end = std::clamp<int64_t>(p + 1, 0, n);
        const int64_t begin = window > 0 ? std::clamp<int64_t>(p - window + 1, 0, end) : 0;
        std::fill(dst, dst + begin, hidden);
        std::fill(dst + begin, dst + end, T(0));
        std::fill(dst + end, dst + n, hidden);
    }
}

}  // namespace

void shim::mask::fill(void *dst, const int32_t *positions) const {
    const int64_t n = leaf->ne[0], t = leaf->ne[1];
    if (leaf->type == GGML_TYPE_F16) {
        fill_rows(static_cast<uint16_t *>(dst), n, t, window, positions, f16_minus_infinity);
    } else {
        fill_rows(static_cast<float *>(dst), n, t, window, positions, -std::numeric_limits<float>::infinity());
    }
}
