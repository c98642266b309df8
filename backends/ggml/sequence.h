/* Constants that a formula gives: written where they are to lie, and nowhere before. */
#ifndef SHIM_SEQUENCE_H
#define SHIM_SEQUENCE_H

#include <cstdint>

struct ggml_tensor;

namespace shim {

/* Element i is start + step * (i % period); see shim_sequence(). */
struct sequence {
    ggml_tensor *leaf;  // f32 or i32, dense
    double start, step;
    int64_t period;

    /* Writes n elements from number first on to dst. */
    void fill(void *dst, int64_t first, int64_t n) const;
};

}  // namespace shim

#endif
