/* Kernels that work element by element where a library's lose NaN. */
#include "kernel.h"

#include <algorithm>

#include "lanes.h"

namespace kernels {

namespace {

FOR_EVERY_X86 void clamp(const float *x, int64_t n, float least, float most, float *y) {
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) {
            const float v = x[i + j] < least ? least : x[i + j];
            y[i + j] = v > most ? most : v;
        }
    }
    for (; i < n; i++) {
        const float v = x[i] < least ? least : x[i];
        y[i] = v > most ? most : v;
    }
}

FOR_EVERY_X86 void leak(const float *x, int64_t n, float slope, float *y) {
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) y[i + j] = x[i + j] > 0 ? x[i + j] : slope * x[i + j];
    }
    for (; i < n; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

/* Calls f with each row of input 0, its length, and where it goes in out, which is dense. */
template <class F>
void each_row(const call *c, int ith, int nth, F &&f) {
    const tensor *x = &c->in[0];
    const part all(x->ne[0] * rows_of(*x), ith, nth);
    float *y = static_cast<float *>(c->out.data);
    // Parts of rows, so that one long row is shared, too.
    for (int64_t at = all.begin; at < all.end;) {
        const int64_t row = at / x->ne[0], i = at % x->ne[0], n = std::min(x->ne[0] - i, all.end - at);
        const int64_t i1 = row % x->ne[1], i2 = row / x->ne[1] % x->ne[2], i3 = row / x->ne[1] / x->ne[2];
        const char *from = static_cast<const char *>(x->data) + i1 * x->nb[1] + i2 * x->nb[2] + i3 * x->nb[3];
        f(reinterpret_cast<const float *>(from) + i, n, y + at);
        at += n;
    }
}

/* At least number 0 and at most number 1; NaN stays. */
void run_clamp(const call *c, int32_t ith, int32_t nth) {
    const int32_t *p = c->numbers;
    const float least = number_at<float>(p), most = number_at<float>(p + 1);
    each_row(c, ith, nth, [&](const float *x, int64_t n, float *y) { clamp(x, n, least, most, y); });
}

/* Number 0 is the slope below 0. */
void run_leaky_relu(const call *c, int32_t ith, int32_t nth) {
    const float slope = number_at<float>(c->numbers);
    each_row(c, ith, nth, [&](const float *x, int64_t n, float *y) { leak(x, n, slope, y); });
}

const kernel clamp_entry("clamp", run_clamp, {KERNELS_ROWS, true, {"min", "max"}});
const kernel leaky_relu_entry("leaky_relu", run_leaky_relu, {KERNELS_ROWS, true, {"negative_slope"}});

}  // namespace

}  // namespace kernels
