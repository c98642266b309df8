/*
 * Dense products and convolutions on the CPU, compiled for several instruction sets,
 * of which the best that the processor has is taken.
 */
#ifndef SHIM_CPU_VARIANTS_H
#define SHIM_CPU_VARIANTS_H

#include <cstddef>
#include <cstdint>

#include "table.h"

namespace shim {

/* The part of n things that is for thread ith of nth. */
struct part {
    int64_t begin, end;
    part(int64_t n, int ith, int nth) : begin(n * ith / nth), end(n * (ith + 1) / nth) {}
};

/* A type of elements: blocks of so many in so many bytes, and how ggml expands them. */
struct element_type {
    ggml_type is;
    int64_t block;
    size_t block_bytes;
    ggml_to_float_t expand;
};

/* Processors by what of them the kernels know to use. */
enum processor : int32_t { any_processor, with_avx2, with_avx512, with_avx512_bf16 };

/* Memory for all threads of a product or convolution, aligned to 64 bytes. */
struct scratch {
    char *data;
    int64_t bytes;
};

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

/*
 * Whether multiply() is to be taken for a product of m rows rather than ggml, which reads
 * the weight as it is stored, or rearranged by repack.cpp: the one place where that is
 * decided, by measurement (docs/dense-products.md).
 */
bool product_pays(ggml_type type, int64_t m, bool rearranged);

/*
 * How much scratch memory multiply() likes to have on so many threads; so does
 * convolve() for m output channels, or positions where the channels are last, over k
 * elements of a kernel.
 */
int64_t product_scratch(ggml_type type, int64_t m, int64_t k, int threads);

/* Computes the part of thread ith of nth. */
void multiply(const product &p, int ith, int nth);

/*
 * A product that ggml has computed, dense, without its bias, and the bits of the least
 * and of the largest magnitude that the largest of a row of x may have so that rounding x
 * as ggml does leaves the row's results right. Rows of zeros are right always. Of the
 * product neither x nor the weight has changed since; it needs no memory.
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

/* The processor whose kernels are taken for what is built now. */
processor chosen_processor();

/* What the kernels use of this one. */
processor processor_in_use();

/* For tests: lets kernels use no more than such a processor has, and says whether this one has that. */
bool limit_processor(processor p);

}  // namespace shim

#endif
