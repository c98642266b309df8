/* Convolution on the CPU, for the best instruction set that the processor has. */
#ifndef SHIM_CPU_CONV_H
#define SHIM_CPU_CONV_H

#include <cstdint>

namespace shim {

/* The part of n things that is for thread ith of nth. */
struct part {
    int64_t begin, end;
    part(int64_t n, int ith, int nth) : begin(n * ith / nth), end(n * (ith + 1) / nth) {}
};

/*
 * A convolution of dense f32 tensors: x [n, groups * ic, h, w], weight [oc, ic, kh,
 * kw], bias [oc] or null, y [n, oc, oh, ow]. top and left are the zeros before x.
 */
struct conv {
    const float *x, *weight, *bias;
    float *y;
    int64_t n, groups, ic, h, w, oc, kh, kw, oh, ow;
    int64_t stride_h, stride_w, top, left, dilation_h, dilation_w;
};

/* Computes the part of thread ith of nth. */
void convolve(const conv &c, int ith, int nth);

/* For tests: lets it use vectors of at most so many floats, 4, 8 or 16. */
void limit_conv_lanes(int lanes);

}  // namespace shim

#endif
