/* The periodic activation "snake" on the CPU, with its angles exact. */
#ifndef KERNELS_SNAKE_H
#define KERNELS_SNAKE_H

#include <cstdint>

namespace kernels {

/*
 * y = x + sin(alpha x)^2 / beta for dense rows of n numbers; row r has the
 * (r % channels)-th alpha and beta.
 */
struct snake {
    const float *x, *alpha, *beta;
    float *y;
    int64_t rows, n, channels;
};

/* Computes the part of thread ith of nth. */
void apply_snake(const snake &s, int ith, int nth);

}  // namespace kernels

#endif
