/* Kernels that choose one of several inputs for each element. */
#include "kernel.h"

namespace kernels {

namespace {

/* Walks out's rows with up to three operands that are broadcast to it. */
template <int N, class F>
void each_broadcast_row(const call *c, int ith, int nth, F &&f) {
    size_t stride[N][4];
    for (int k = 0; k < N; k++) {
        for (int d = 0; d < 4; d++) stride[k][d] = c->in[k].ne[d] == 1 ? 0 : c->in[k].nb[d];
    }
    const part rows(rows_of(c->out), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const int64_t i1 = r % c->out.ne[1], i2 = r / c->out.ne[1] % c->out.ne[2], i3 = r / c->out.ne[1] / c->out.ne[2];
        const char *at[N];
        size_t step[N];
        for (int k = 0; k < N; k++) {
            at[k] =
                static_cast<const char *>(c->in[k].data) + i1 * stride[k][1] + i2 * stride[k][2] + i3 * stride[k][3];
            step[k] = stride[k][0];
        }
        f(reinterpret_cast<float *>(static_cast<char *>(c->out.data) + i1 * c->out.nb[1] + i2 * c->out.nb[2] +
                                    i3 * c->out.nb[3]),
          at, step);
    }
}

float number(const char *p) {
    float v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class Pick>
void pick(const call *c, int ith, int nth, Pick &&choose) {
    const int64_t n = c->out.ne[0];
    each_broadcast_row<2>(c, ith, nth, [&](float *y, const char **at, const size_t *step) {
        for (int64_t i = 0; i < n; i++) y[i] = choose(number(at[0] + i * step[0]), number(at[1] + i * step[1]));
    });
}

/* in[0] != 0 ? in[1] : in[2], each broadcast to out. */
void run_where(const call *c, int32_t ith, int32_t nth) {
    const int64_t n = c->out.ne[0];
    each_broadcast_row<3>(c, ith, nth, [&](float *y, const char **at, const size_t *step) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = number(at[0] + i * step[0]) != 0 ? number(at[1] + i * step[1]) : number(at[2] + i * step[2]);
        }
    });
}

void run_maximum(const call *c, int32_t ith, int32_t nth) {
    // A NaN on either side stays one, as in numpy.
    pick(c, ith, nth, [](float a, float b) { return a > b || a != a ? a : b; });
}

void run_minimum(const call *c, int32_t ith, int32_t nth) {
    pick(c, ith, nth, [](float a, float b) { return a < b || a != a ? a : b; });
}

const kernel where_entry("where", run_where, {KERNELS_STRIDED, false, {}});
const kernel maximum_entry("maximum", run_maximum, {KERNELS_STRIDED, false, {}});
const kernel minimum_entry("minimum", run_minimum, {KERNELS_STRIDED, false, {}});

}  // namespace

}  // namespace kernels
