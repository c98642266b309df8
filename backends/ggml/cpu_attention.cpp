#include "cpu_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu_targets.h"

namespace shim {

namespace {

#define BODY "cpu_attention_body.h"
#include "cpu_each_target.h"

struct variant {
    void (*attend_part)(const attention &, int, int);
    int64_t (*bytes_of_work)(int64_t d, int64_t dv);
};

const variant &of_processor() {
    static const variant variants[] = {
        {every::attend_part, every::bytes_of_work},
#if defined(SHIM_X86_VARIANTS)
        {avx2::attend_part, avx2::bytes_of_work},
        {avx512::attend_part, avx512::bytes_of_work},
        {avx512::attend_part, avx512::bytes_of_work},
#endif
    };
    return variants[processor_in_use()];
}

}  // namespace

int64_t attention_chunk(int64_t t, int64_t heads, int64_t kv_heads, int64_t n) {
    constexpr int64_t keys = 512, enough = 16;
    const int64_t pieces = kv_heads * ((t * (heads / kv_heads) + every::ROWS - 1) / every::ROWS);
    return pieces >= enough || n < 2 * keys ? n : keys;
}

int64_t attention_scratch(int64_t d, int64_t dv, int threads) {
    return of_processor().bytes_of_work(d, dv) * threads + 64;  // to align it
}

void attend(const attention &a, int ith, int nth) { of_processor().attend_part(a, ith, nth); }

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

}  // namespace shim
