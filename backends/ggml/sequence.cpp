#include "sequence.h"

#include "library/table.h"

namespace {

template <class T>
void fill_as(T *dst, const shim::sequence &s, int64_t first, int64_t n) {
    int64_t at = first % s.period;
    for (int64_t i = 0; i < n; i++) {
        dst[i] = static_cast<T>(s.start + s.step * static_cast<double>(at));
        if (++at == s.period) at = 0;
    }
}

}  // namespace

void shim::sequence::fill(void *dst, int64_t first, int64_t n) const {
    if (leaf->type == GGML_TYPE_I32) {
        fill_as(static_cast<int32_t *>(dst), *this, first, n);
    } else {
        fill_as(static_cast<float *>(dst), *this, first, n);
    }
}
