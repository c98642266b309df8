/* What is largest of each row. */
#include "kernel.h"

#include <algorithm>

#include "lanes.h"

namespace kernels {

namespace {

/* The order of argmax and top_k: NaN first, then the largest. */
inline bool before(float a, float b) { return a > b || (a != a && b == b); }

/* The largest of n numbers, or a NaN. */
FOR_EVERY_X86 float largest(const float *x, int64_t n) {
    float top[lane], unordered[lane] = {};
    for (int64_t j = 0; j < lane; j++) top[j] = x[0];
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) {
            top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
            unordered[j] = x[i + j] != x[i + j] ? x[i + j] : unordered[j];
        }
    }
    float y = x[0];
    for (; i < n; i++) y = before(x[i], y) ? x[i] : y;
    for (int64_t j = 0; j < lane; j++) {
        if (unordered[j] != 0) return unordered[j];
        y = before(top[j], y) ? top[j] : y;
    }
    return y;
}

int64_t first_largest(const float *x, int64_t n) {
    const float top = largest(x, n);
    return std::find_if(x, x + n, [top](float v) { return v == top || (v != v && top != top); }) - x;
}

/* For each dense row the place of its first NaN, else of the first of its largest elements. */
void run_argmax(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const part rows(rows_of(*x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * x->ne[0];
        static_cast<int32_t *>(c->out.data)[r] = static_cast<int32_t>(first_largest(row, x->ne[0]));
    }
}

/* NaN where a row has one. */
void run_row_max(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const part rows(rows_of(*x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * x->ne[0];
        static_cast<float *>(c->out.data)[r] = row[first_largest(row, x->ne[0])];
    }
}

/*
 * For each dense row the out.ne[0] largest, NaN before all, first of equals first; then, as
 * i32, where they are.
 */
void run_top_k(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const int64_t n = x->ne[0], k = c->out.ne[0];
    const part rows(rows_of(*x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * n;
        float *value = static_cast<float *>(c->out.data) + r * k;
        int32_t *place = static_cast<int32_t *>(c->out.data) + (rows_of(*x) + r) * k;
        // The largest so far, sorted; most elements are below the last of them.
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++) {
            if (kept == k && !before(row[i], value[k - 1])) continue;
            const int64_t at = std::upper_bound(value, value + kept, row[i], before) - value;
            if (kept < k) kept++;
            std::copy_backward(value + at, value + kept - 1, value + kept);
            std::copy_backward(place + at, place + kept - 1, place + kept);
            value[at] = row[i];
            place[at] = static_cast<int32_t>(i);
        }
    }
}

const kernel argmax_entry("argmax", run_argmax);
const kernel row_max_entry("row_max", run_row_max);
const kernel top_k_entry("top_k", run_top_k);

}  // namespace

}  // namespace kernels
