/* The frequencies of rotary position embedding: written where they are to lie. */
#ifndef SHIM_ROPE_FREQUENCIES_H
#define SHIM_ROPE_FREQUENCIES_H

struct ggml_tensor;

namespace shim {

/* scale * base^(-i/half), each the sum of two floats; see shim_rope_frequencies(). */
struct rope_frequencies {
    ggml_tensor *leaf;  // f32 [2, half]
    double base, scale;

    void fill(float *dst) const;
};

}  // namespace shim

#endif
