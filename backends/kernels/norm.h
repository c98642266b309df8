/*
 * Norms of f32 rows on the CPU, as exact where a row's numbers are nearly equal, very
 * large or very small as where they are not. Compiled for several instruction sets.
 */
#ifndef KERNELS_NORM_H
#define KERNELS_NORM_H

#include <cstdint>

namespace kernels {

/*
 * y = (x - mean) / sqrt(var + eps) * weight + bias for each of so many dense rows of n
 * numbers, or without the mean x / sqrt(mean(x^2) + eps) * weight. weight and bias may be
 * null; each of their numbers is for `repeat` successive ones of a row, those of row r
 * begin at the (r % parameter_rows)-th row of them.
 */
struct norm {
    const float *x, *weight, *bias;
    float *y;
    int64_t rows, n, repeat, parameter_rows;
    double eps;
    bool centred;
};

/* Computes the part of thread ith of nth. */
void normalise(const norm &p, int ith, int nth);

}  // namespace kernels

#endif
