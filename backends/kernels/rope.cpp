#include "rope.h"

#include <cmath>
#include <cstring>

#include "kernel.h"
#include "processor.h"
#include "targets.h"

namespace kernels {

namespace {

#define BODY "rope_body.h"
#include "each_target.h"

}  // namespace

void find_angles(const rope_angles &a, int ith, int nth) { OF_PROCESSOR(angles_part)(a, ith, nth); }
void rotate(const rope &r, int ith, int nth) { OF_PROCESSOR(rotate_part)(r, ith, nth); }

namespace {

/* Positions, i32 or i64; frequencies. Number 0: whether pairs are interleaved. */
void run_angles(const call *c, int32_t ith, int32_t nth) {
    const tensor &positions = c->in[0], &y = c->out;
    rope_angles a;
    a.positions = static_cast<const char *>(positions.data);
    a.wide = positions.type->is == I64;
    a.frequencies = floats_of(c->in[1]);
    a.y = static_cast<float *>(y.data);
    a.interleaved = *c->numbers != 0;
    a.t = y.ne[2], a.half = a.interleaved ? y.ne[0] / 2 : y.ne[0];
    find_angles(a, ith, nth);
}

/* x, the angles. Number 0 as above. */
void run_rope(const call *c, int32_t ith, int32_t nth) {
    const tensor &x = c->in[0], &angles = c->in[1];
    rope r;
    r.x = static_cast<const char *>(x.data);
    r.x_head = x.nb[1], r.x_row = x.nb[2];
    r.angles = floats_of(angles);
    r.y = static_cast<float *>(c->out.data);
    r.d = x.ne[0], r.heads = x.ne[1], r.t = x.ne[2];
    r.interleaved = *c->numbers != 0;
    r.half = r.interleaved ? angles.ne[0] / 2 : angles.ne[0];
    rotate(r, ith, nth);
}

const kernel angles_entry("rope_angles", run_angles);
const kernel rope_entry("rope", run_rope);

}  // namespace

}  // namespace kernels
