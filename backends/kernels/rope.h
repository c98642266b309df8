/* Rotary position embedding on the CPU, with angles in double precision. */
#ifndef KERNELS_ROPE_H
#define KERNELS_ROPE_H

#include <cstddef>
#include <cstdint>

namespace kernels {

/*
 * The cosines and sines of t positions' angles position * frequency: [t, 2, half], or
 * [t, 2, 2 half] where pairs are interleaved: then each cosine stands twice, each sine
 * once negative and once as it is. A frequency is the sum of two floats, at [0, i] and
 * [1, i] of frequencies.
 */
struct rope_angles {
    const char *positions;  // i32, or i64 where wide
    bool wide, interleaved;
    const float *frequencies;
    float *y;
    int64_t t, half;
};

/* Turns the first 2 half elements of each head of x [t, heads, d] into y, which is dense. */
struct rope {
    const char *x;  // the elements of a head lie side by side, the strides are in bytes
    size_t x_row, x_head;
    const float *angles;
    float *y;
    int64_t t, heads, d, half;
    bool interleaved;
};

/* Both compute the part of thread ith of nth. */
void find_angles(const rope_angles &a, int ith, int nth);
void rotate(const rope &r, int ith, int nth);

}  // namespace kernels

#endif
