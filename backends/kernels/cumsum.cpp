/* Running sums, in double. */
#include "kernel.h"

#include <algorithm>

#include "lanes.h"

namespace kernels {

namespace {

/* Dense; along axis number 0. */
void run_cumsum(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const int axis = *c->numbers;
    const int64_t n = x->ne[axis];
    int64_t step = 1;  // from one element along the axis to the next
    for (int d = 0; d < axis; d++) step *= x->ne[d];
    const float *from = static_cast<const float *>(x->data);
    float *to = static_cast<float *>(c->out.data);
    // The lines along the axis; neighbours are summed side by side.
    const part lines(x->ne[0] * rows_of(*x) / n, ith, nth);
    for (int64_t line = lines.begin; line < lines.end;) {
        const int64_t inner = line % step, side_by_side = std::min({lane, step - inner, lines.end - line});
        const int64_t first = line / step * n * step + inner;
        double sum[lane] = {};
        for (int64_t at = first; at < first + n * step; at += step) {
            for (int64_t j = 0; j < side_by_side; j++) {
                sum[j] += from[at + j];
                to[at + j] = static_cast<float>(sum[j]);
            }
        }
        line += side_by_side;
    }
}

const kernel entry("cumsum", run_cumsum);

}  // namespace

}  // namespace kernels
