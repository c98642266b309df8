#include "mask.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "library/table.h"

namespace {

constexpr uint16_t f16_minus_infinity = 0xfc00;

int64_t position(const void *positions, bool wide, int64_t j) {
    int64_t at = 0;
    int32_t narrow;
    if (wide) {
        std::memcpy(&at, static_cast<const char *>(positions) + j * sizeof at, sizeof at);
        return at;
    }
    std::memcpy(&narrow, static_cast<const char *>(positions) + j * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Row j is 0 for keys in (p - window, p] and minus infinity elsewhere. */
template <class T>
void fill_rows(T *dst, int64_t n, int64_t t, int64_t window, const void *positions, bool wide, T hidden) {
    for (int64_t j = 0; j < t; j++, dst += n) {
        const int64_t p = positions != nullptr ? position(positions, wide, j) : n - t + j;
        const int64_t end = std::clamp<int64_t>(p + 1, 0, n);
        const int64_t begin = window > 0 ? std::clamp<int64_t>(p - window + 1, 0, end) : 0;
        std::fill(dst, dst + begin, hidden);
        std::fill(dst + begin, dst + end, T(0));
        std::fill(dst + end, dst + n, hidden);
    }
}

}  // namespace

void shim::mask::fill(void *dst, const void *positions) const {
    const int64_t n = leaf->ne[0], t = leaf->ne[1];
    if (leaf->type == GGML_TYPE_F16) {
        fill_rows(static_cast<uint16_t *>(dst), n, t, window, positions, wide, f16_minus_infinity);
    } else {
        fill_rows(static_cast<float *>(dst), n, t, window, positions, wide, -std::numeric_limits<float>::infinity());
    }
}
