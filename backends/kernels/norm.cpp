#include "norm.h"

#include <cstring>

#include "kernel.h"
#include "processor.h"
#include "targets.h"

namespace kernels {

namespace {

#define BODY "norm_body.h"
#include "each_target.h"

}  // namespace

void normalise(const norm &p, int ith, int nth) { OF_PROCESSOR(normalise_part)(p, ith, nth); }

namespace {

/*
 * x, dense, then weight and bias, if any. Numbers: eps, a float's bits; 1 for a mean, 2
 * for a weight, 4 for a bias; then in two halves each: n, repeat, parameter_rows.
 */
void run_norm(const call *c, int32_t ith, int32_t nth) {
    const int32_t *p = c->numbers;
    norm n;
    n.x = floats_of(c->in[0]);
    n.y = static_cast<float *>(c->out.data);
    n.eps = number_at<float>(p);
    n.centred = p[1] & 1;
    n.weight = p[1] & 2 ? floats_of(c->in[1]) : nullptr;
    n.bias = p[1] & 4 ? floats_of(c->in[n.weight != nullptr ? 2 : 1]) : nullptr;
    n.n = number_at<int64_t>(p + 2);
    n.repeat = number_at<int64_t>(p + 4);
    n.parameter_rows = number_at<int64_t>(p + 6);
    n.rows = c->out.ne[0] * rows_of(c->out) / n.n;
    normalise(n, ith, nth);
}

const kernel entry("norm", run_norm);

}  // namespace

}  // namespace kernels
