/*
 * Norms of rows: included once for each instruction set, inside a namespace of its own,
 * hence without an include guard.
 *
 * A mean in f32 is off by some of its last bits, which is much where the numbers hardly
 * differ from it. So it is only what the differences are taken from: these are exact
 * where the numbers are close, their own mean is taken off them, and the variance is
 * that of the differences (the shifted data algorithm: Chan, Golub and LeVeque,
 * "Algorithms for Computing the Sample Variance", 1983).
 */

#include "vectors_body.h"

enum {
    SUMS = 4,    // vectors that are summed side by side
    RUN = 2048,  // numbers that are summed in f32, at most, before the sums go into a double
};

/* The sum of values(i), vectors of n numbers with zeros behind them, or that of their squares, or both. */
template <bool plain, bool squared, class Values>
static inline void add_up(int64_t n, double *sum_of, double *squares_of, Values &&values) {
    *sum_of = *squares_of = 0;
    for (int64_t begin = 0; begin < n; begin += RUN) {
        const int64_t end = least(n, begin + RUN);
        vec s[SUMS] = {}, q[SUMS] = {};
        int64_t i = begin;
        for (; i + SUMS * LANES <= end; i += SUMS * LANES) {
#pragma GCC unroll 4
            for (int v = 0; v < SUMS; v++) {
                const vec x = values(i + v * LANES, int64_t(LANES));
                if (plain) s[v] += x;
                if (squared) q[v] += x * x;
            }
        }
        for (; i < end; i += LANES) {
            const vec x = values(i, least(LANES, end - i));
            if (plain) s[0] += x;
            if (squared) q[0] += x * x;
        }
        if (plain) *sum_of += sum((s[0] + s[1]) + (s[2] + s[3]));
        if (squared) *squares_of += sum((q[0] + q[1]) + (q[2] + q[3]));
    }
}

/* y = (x - first - second) * factor * weight + bias, in floats or for single numbers doubles. */
struct affine {
    const float *weight, *bias;
    int64_t repeat;

    bool each() const { return repeat == 1; }
    float weight_of(int64_t i) const { return weight != nullptr ? weight[i / repeat] : 1; }
    float bias_of(int64_t i) const { return bias != nullptr ? bias[i / repeat] : 0; }
};

template <bool weighted, bool biased>
static inline void write_each(const float *x, int64_t n, float first, float second, float factor, const affine &a,
                              float *y) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec v = (load(x + i) - first - second) * factor;
        if (weighted) v *= load(a.weight + i);
        if (biased) v += load(a.bias + i);
        store(y + i, v);
    }
    for (; i < n; i++) {
        float v = (x[i] - first - second) * factor;
        if (weighted) v *= a.weight[i];
        if (biased) v += a.bias[i];
        y[i] = v;
    }
}

static void write_row(const float *x, int64_t n, float first, float second, float factor, const affine &a, float *y) {
    if (a.each()) {
        const auto write = a.weight != nullptr
                               ? (a.bias != nullptr ? write_each<true, true> : write_each<true, false>)
                               : (a.bias != nullptr ? write_each<false, true> : write_each<false, false>);
        return write(x, n, first, second, factor, a, y);
    }
    for (int64_t i = 0; i < n; i += a.repeat) {
        const float weight = a.weight_of(i) * factor, bias = a.bias_of(i);
        int64_t k = i;
        for (; k + LANES <= i + a.repeat; k += LANES) {
            store(y + k, (load(x + k) - first - second) * weight + bias);
        }
        for (; k < i + a.repeat; k++) y[k] = (x[k] - first - second) * weight + bias;
    }
}

/* The same in doubles throughout, for rows whose squares f32 cannot hold. */
static void normalise_in_double(const float *x, int64_t n, double eps, bool centred, const affine &a, float *y) {
    double mean = 0, squares = 0;
    if (centred) {
        for (int64_t i = 0; i < n; i++) mean += x[i];
        mean /= double(n);
    }
    for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / __builtin_sqrt(squares / double(n) + eps);
    for (int64_t i = 0; i < n; i++) y[i] = float((x[i] - mean) * factor * a.weight_of(i) + a.bias_of(i));
}

static void normalise_row(const float *x, int64_t n, double eps, bool centred, const affine &a, float *y) {
    const double each = 1 / double(n);
    const auto plain = [x](int64_t i, int64_t m) { return m == LANES ? load(x + i) : load_part(x + i, m); };
    double sum_of, squares;
    float about = 0;
    if (centred) {
        add_up<true, false>(n, &sum_of, &squares, plain);
        about = float(sum_of * each);
        add_up<true, true>(n, &sum_of, &squares, [x, about](int64_t i, int64_t m) {
            return m == LANES ? load(x + i) - about : load_part(x + i, m) - load_part_of(about, m);
        });
    } else {
        add_up<false, true>(n, &sum_of, &squares, plain);
    }
    const double off = sum_of * each, spread = squares * each - off * off;
    const double variance = spread + eps;
    // Beyond these bounds squares are rounded to what f32 has left, or to nothing; and
    // where the mean is off by more than the numbers differ, little is left of these.
    if (!(variance > 1e-28 && variance < 1e36 && off * off <= 4 * variance))
        return normalise_in_double(x, n, eps, centred, a, y);
    write_row(x, n, about, float(off), 1 / __builtin_sqrtf(float(variance)), a, y);
}

static void normalise_part(const norm &p, int ith, int nth) {
    const int64_t end = p.rows * (ith + 1) / nth;
    for (int64_t r = p.rows * ith / nth; r < end; r++) {
        const int64_t at = r % p.parameter_rows * (p.n / p.repeat);
        const affine a = {p.weight != nullptr ? p.weight + at : nullptr, p.bias != nullptr ? p.bias + at : nullptr,
                          p.repeat};
        normalise_row(p.x + r * p.n, p.n, p.eps, p.centred, a, p.y + r * p.n);
    }
}
