/*
 * Matrix products and convolutions, compiled for several instruction sets, of which the
 * best that the processor has is taken.
 */
#ifndef KERNELS_PRODUCT_H
#define KERNELS_PRODUCT_H

#include "kernel.h"
#include "processor.h"

namespace kernels {

/*
 * y[m][n] = x[m][k] w[n][k]^T + bias[n], batch times over. x is f32, w of any type; the
 * elements of their rows lie side by side. Strides are in bytes: from row to row, and
 * along the two axes of the batch; batch2 is how long the inner of these is, and each
 * matrix of w is for so many successive ones of x. y is dense, bias may be null.
 */
struct product {
    element_type type;
    const char *w, *x;
    size_t w_bytes[3], x_bytes[3];
    int64_t batch, batch2, repeat2, repeat3;
    int64_t m, n, k;
    const float *bias;
    float *y;
    scratch memory;
    processor measured;  // whose kernels the memory was measured for, and which compute
};

/* Computes the part of thread ith of nth. */
void multiply(const product &p, int ith, int nth);

/*
 * A product that a library has computed which rounds x, dense, without its bias; and the
 * bits of the least and of the largest magnitude that the largest of a row of x may have
 * so that this rounding leaves the row's results right. Rows of zeros are right always.
 * Of the product neither x nor the weight has changed since; it needs no memory.
 */
struct checked_product {
    product of;
    int32_t least_bits, most_bits;
};

/* Computes anew what is not right, adds the bias: the part of thread ith of nth. */
void check(const checked_product &p, int ith, int nth);

/*
 * A convolution of dense f32 tensors: x [n, groups * ic, h, w], weight [oc, ic, kh,
 * kw], bias [oc] or null, y [n, oc, oh, ow]. top and left are the zeros before x.
 * Where the channels are last: x [n, h, w, groups * ic], weight [oc, kh, kw, ic] of any
 * type and y [n, oh, ow, oc].
 */
struct conv {
    const float *x, *bias;
    element_type type;
    const char *weight;
    float *y;
    int64_t n, groups, ic, h, w, oc, kh, kw, oh, ow;
    int64_t stride_h, stride_w, top, left, dilation_h, dilation_w;
    bool channels_last;
    scratch memory;
    processor measured;  // as of a product
};

void convolve(const conv &c, int ith, int nth);

}  // namespace kernels

#endif
