#include "snake.h"

#include <cmath>
#include <cstring>

#include "kernel.h"
#include "processor.h"
#include "targets.h"

namespace kernels {

namespace {

#define BODY "snake_body.h"
#include "each_target.h"

}  // namespace

void apply_snake(const snake &s, int ith, int nth) { OF_PROCESSOR(snake_part)(s, ith, nth); }

namespace {

/* x with its channels along axis 1, alpha, beta. */
void run_snake(const call *c, int32_t ith, int32_t nth) {
    apply_snake({floats_of(c->in[0]), floats_of(c->in[1]), floats_of(c->in[2]), static_cast<float *>(c->out.data),
                 rows_of(c->out), c->out.ne[0], c->out.ne[1]},
                ith, nth);
}

const kernel entry("snake", run_snake, {KERNELS_DENSE, false, {}});

}  // namespace

}  // namespace kernels
