#include "attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "processor.h"
#include "targets.h"

namespace kernels {

namespace {

#define BODY "attention_body.h"
#include "each_target.h"

}  // namespace

void attend(const attention &a, int ith, int nth) { OF_PROCESSOR(attend_part)(a, ith, nth); }

void combine(const float *parts, int64_t chunks, int64_t rows, int64_t dv, float *y, int ith, int nth) {
    const int64_t row = dv + 2;
    const part p(rows, ith, nth);
    for (int64_t r = p.begin; r < p.end; r++) {
        const auto of_chunk = [&](int64_t chunk) { return parts + (chunk * rows + r) * row; };
        float top = -INFINITY, all = 0;
        for (int64_t c = 0; c < chunks; c++) top = std::max(top, of_chunk(c)[dv]);
        if (top == -INFINITY) top = 0;
        for (int64_t c = 0; c < chunks; c++) all += of_chunk(c)[dv + 1] * std::exp(of_chunk(c)[dv] - top);
        float *to = y + r * dv;
        std::fill(to, to + dv, 0.0f);
        for (int64_t c = 0; c < chunks; c++) {
            const float sum = of_chunk(c)[dv + 1];
            if (sum == 0) continue;
            const float weight = sum * std::exp(of_chunk(c)[dv] - top) / all;
            for (int64_t i = 0; i < dv; i++) to[i] += weight * of_chunk(c)[i];
        }
    }
}

namespace {

/*
 * q, k, scratch memory, v, then the mask and the queries' positions (i32), if any.
 * Numbers: the scale's bits, whether causal, the window in two halves, whether there is a
 * mask, and positions.
 */
void run_attention(const call *c, int32_t ith, int32_t nth) {
    const tensor &q = c->in[0], &k = c->in[1], &v = c->in[3];
    const int32_t *p = c->numbers;
    attention a;
    a.k_type = k.type->is, a.v_type = v.type->is;
    a.q = static_cast<const char *>(q.data), a.q_head = q.nb[1], a.q_row = q.nb[2];
    a.k = static_cast<const char *>(k.data), a.k_head = k.nb[1], a.k_row = k.nb[2];
    a.v = static_cast<const char *>(v.data), a.v_head = v.nb[1], a.v_row = v.nb[2];
    a.d = q.ne[0], a.heads = q.ne[1], a.t = q.ne[2];
    a.dv = v.ne[0], a.kv_heads = v.ne[1], a.n = v.ne[2];
    a.scale = number_at<float>(p);
    a.causal = p[1] != 0;
    a.window = number_at<int64_t>(p + 2);
    const tensor *mask = p[4] != 0 ? &c->in[4] : nullptr;
    const tensor *positions = p[5] != 0 ? &c->in[mask != nullptr ? 5 : 4] : nullptr;
    a.mask = mask != nullptr ? floats_of(*mask) : nullptr;
    a.mask_row = mask != nullptr ? mask->nb[1] : 0;
    a.positions = positions != nullptr ? static_cast<const int32_t *>(positions->data) : nullptr;
    a.chunk = kernels_attention_chunk(a.t, a.heads, a.kv_heads, a.n);
    a.y = static_cast<float *>(c->out.data);
    a.memory = memory_of(c->in[2]);
    attend(a, ith, nth);
}

/* The chunks' results. */
void run_combine(const call *c, int32_t ith, int32_t nth) {
    const tensor &parts = c->in[0];
    combine(floats_of(parts), parts.ne[2], parts.ne[1], parts.ne[0] - 2, static_cast<float *>(c->out.data), ith, nth);
}

const kernel attention_entry("attention", run_attention, {}, 2);
const kernel combine_entry("combine", run_combine);

}  // namespace

}  // namespace kernels

int64_t kernels_attention_scratch(int64_t d, int64_t dv, int32_t threads) {
    using namespace kernels;
    return OF_PROCESSOR(bytes_of_work)(d, dv) * threads + 64;  // to align it
}

int64_t kernels_attention_chunk(int64_t t, int64_t heads, int64_t kv_heads, int64_t n) {
    constexpr int64_t keys = 512, enough = 16, rows = kernels::every::ROWS;
    const int64_t pieces = kv_heads * ((t * (heads / kv_heads) + rows - 1) / rows);
    return pieces >= enough || n < 2 * keys ? n : keys;
}
