#include "product.h"

#include <cstring>
#include <utility>

#include "targets.h"

namespace kernels {

namespace {

#define BODY "dense_body.h"
#define BODY_USES_BF16
#include "each_target.h"

/* The kernels compiled for one instruction set. */
struct variant {
    void (*product_part)(const product &, int, int);
    void (*conv_part)(const conv &, int, int);
    void (*check_part)(const checked_product &, int, int);
    int64_t (*wanted_bytes)(int32_t type, int64_t rows, int64_t k);  // of a thread
};

const variant variants[] = {
    {every::product_part, every::conv_part, every::check_part, every::wanted_by},
#if defined(KERNELS_X86)
    {avx2::product_part, avx2::conv_part, avx2::check_part, avx2::wanted_by},
    {avx512::product_part, avx512::conv_part, avx512::check_part, avx512::wanted_by},
    {avx512_bf16::product_part, avx512_bf16::conv_part, avx512_bf16::check_part, avx512_bf16::wanted_by},
#endif
};

}  // namespace

void multiply(const product &p, int ith, int nth) { variants[p.measured].product_part(p, ith, nth); }

void check(const checked_product &p, int ith, int nth) { variants[processor_in_use()].check_part(p, ith, nth); }

void convolve(const conv &c, int ith, int nth) { variants[c.measured].conv_part(c, ith, nth); }

namespace {

/* The product of x and a weight, without memory; bias may be null. */
product product_of(const tensor &x, const tensor &w, const float *bias, const tensor &y) {
    product p;
    p.type = *w.type;
    p.x = static_cast<const char *>(x.data);
    p.w = static_cast<const char *>(w.data);
    for (int d = 0; d < 3; d++) {
        p.x_bytes[d] = x.nb[d + 1];
        p.w_bytes[d] = w.nb[d + 1];
    }
    p.m = x.ne[1], p.n = w.ne[1], p.k = x.ne[0];
    p.batch2 = x.ne[2], p.batch = x.ne[2] * x.ne[3];
    p.repeat2 = x.ne[2] / w.ne[2], p.repeat3 = x.ne[3] / w.ne[3];
    p.bias = bias;
    p.y = static_cast<float *>(y.data);
    p.memory = {nullptr, 0};
    p.measured = any_processor;
    return p;
}

// Of a product and a convolution input 2 is scratch memory, and the last number the
// processor that it was measured for.
constexpr int scratch_input = 2, measured_number = KERNELS_NUMBERS - 1;

/* x, the weight, scratch memory, the bias, if any. */
void run_product(const call *c, int32_t ith, int32_t nth) {
    product p = product_of(c->in[0], c->in[1], floats_if(c, 3), c->out);
    p.memory = memory_of(c->in[scratch_input]);
    p.measured = processor(c->numbers[measured_number]);
    multiply(p, ith, nth);
}

/*
 * The product as a library has computed it, where out lies too; x, the weight, the bias,
 * if any. Numbers: the bits of the range of checked_product.
 */
void run_check(const call *c, int32_t ith, int32_t nth) {
    check({product_of(c->in[1], c->in[2], floats_if(c, 3), c->out), c->numbers[0], c->numbers[1]}, ith, nth);
}

/*
 * Inputs as of a product. Numbers: stride, zeros before, dilation, for h and w each;
 * whether the channels are last.
 */
void run_convolution(const call *call, int32_t ith, int32_t nth) {
    const tensor &x = call->in[0], &weight = call->in[1], &y = call->out;
    const int32_t *p = call->numbers;
    conv c;
    c.x = floats_of(x);
    c.type = *weight.type;
    c.weight = static_cast<const char *>(weight.data);
    c.bias = floats_if(call, 3);
    c.y = static_cast<float *>(y.data);
    c.memory = memory_of(call->in[scratch_input]);
    c.measured = processor(p[measured_number]);
    c.channels_last = p[6] != 0;
    // Where the channels are: among the axes columns, rows, channels the last or the first.
    const int channel = c.channels_last ? 0 : 2, column = c.channels_last ? 1 : 0, row = column + 1;
    c.n = x.ne[3], c.h = x.ne[row], c.w = x.ne[column];
    c.oc = weight.ne[3], c.ic = weight.ne[channel], c.kh = weight.ne[row], c.kw = weight.ne[column];
    c.groups = x.ne[channel] / c.ic;
    c.oh = y.ne[row], c.ow = y.ne[column];
    c.stride_h = p[0], c.stride_w = p[1], c.top = p[2], c.left = p[3], c.dilation_h = p[4], c.dilation_w = p[5];
    convolve(c, ith, nth);
}

const kernel product_entry("product", run_product, {}, scratch_input);
const kernel convolution_entry("convolution", run_convolution, {}, scratch_input);
const kernel check_entry("check", run_check, {}, 2);  // of the weight it rarely reads anything

}  // namespace

}  // namespace kernels

int64_t kernels_product_scratch(int32_t type, int64_t m, int64_t k, int32_t threads) {
    return kernels::variants[kernels_processor()].wanted_bytes(type, m, k) * threads + 64;  // to align it
}
