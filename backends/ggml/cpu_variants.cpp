#include "cpu_variants.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "cpu_targets.h"

namespace shim {

namespace {

namespace every {
#define LANES 4
#include "cpu_conv_body.h"

#include "cpu_check_body.h"
#undef LANES
}  // namespace every

#if defined(SHIM_X86_VARIANTS)

BEGIN_FOR("avx2,fma,f16c")
namespace avx2 {
#define LANES 8
#include "cpu_conv_body.h"

#include "cpu_check_body.h"
#undef LANES
}  // namespace avx2
END_FOR

#define LANES 16
BEGIN_FOR("avx512f,avx512bw,fma,f16c")
namespace avx512 {
#include "cpu_conv_body.h"

#include "cpu_check_body.h"
}  // namespace avx512
END_FOR

#define WITH_BF16
BEGIN_FOR("avx512f,avx512bw,avx512bf16,fma,f16c")
namespace avx512_bf16 {
#include "cpu_conv_body.h"

#include "cpu_check_body.h"
}  // namespace avx512_bf16
END_FOR
#undef WITH_BF16
#undef LANES

#endif

/* What the kernels compiled for one instruction set are, and what is known of them. */
struct variant {
    bool bf16;  // multiplies pairs of bf16; then also quantised weights are
    void (*product_part)(const product &, int, int);
    void (*conv_part)(const conv &, int, int);
    void (*check_part)(const checked_product &, int, int);
    int64_t (*wanted_bytes)(ggml_type type, int64_t rows, int64_t k);
};

const variant variants[] = {
    {false, every::product_part, every::conv_part, every::check_part, every::wanted_by},
#if defined(SHIM_X86_VARIANTS)
    {false, avx2::product_part, avx2::conv_part, avx2::check_part, avx2::wanted_by},
    {false, avx512::product_part, avx512::conv_part, avx512::check_part, avx512::wanted_by},
    {true, avx512_bf16::product_part, avx512_bf16::conv_part, avx512_bf16::check_part, avx512_bf16::wanted_by},
#endif
};

/* The best processor, of those that the kernels know, that this one is. */
processor best() {
#if defined(SHIM_X86_VARIANTS)
    // Each asks for all that its variant above is compiled for.
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return any_processor;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        return __builtin_cpu_supports("avx512bf16") ? with_avx512_bf16 : with_avx512;
    }
    if (__builtin_cpu_supports("avx2")) return with_avx2;
#endif
    return any_processor;
}

std::atomic<processor> chosen{best()};

const variant &of_chosen() { return variants[chosen.load(std::memory_order_relaxed)]; }

}  // namespace

namespace {

/*
 * Over ggml's products with a weight that is rearranged. Measured on Zen 4 (2048 by 2048,
 * one thread), ours took this part of their time, at 32, 64, 128, 256 and 512 rows: q4_0
 * 1.11, 0.84, 0.74, 0.69, 0.64; q4_K 1.58, 1.03, 0.87, 0.80, 0.79; iq4_nl 3.35, 1.78,
 * 1.27, 0.93, 0.80; mxfp4 2.91, 1.87, 1.26, 0.94, 0.9.
 */
bool pays_over_rearranged(ggml_type type, int64_t m, bool bf16) {
    if (!bf16) return false;
    switch (type) {
        case GGML_TYPE_Q4_0:
            return m >= 64;
        case GGML_TYPE_Q4_K:
            return m >= 128;
        case GGML_TYPE_IQ4_NL:
        case GGML_TYPE_MXFP4:
            return m >= 256;
        default:
            return false;
    }
}

}  // namespace

bool product_pays(ggml_type type, int64_t m, bool rearranged) {
    if (chosen == any_processor) return false;
    // Few rows do not repay laying a weight out in panels, and the less it takes ggml to
    // read it, the later.
    constexpr int64_t never = INT64_MAX;
    const bool bf16 = of_chosen().bf16;
    if (rearranged) return pays_over_rearranged(type, m, bf16);
    switch (type) {
        case GGML_TYPE_F32:
            return m >= 16;
        case GGML_TYPE_F16:
            return m >= 8;
        case GGML_TYPE_BF16:
            return m >= (bf16 ? 8 : 32);
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_Q4_0:
            return m >= (bf16 ? 32 : never);
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q5_1:
        case GGML_TYPE_Q4_K:
        case GGML_TYPE_Q5_K:
            return m >= 32;
        case GGML_TYPE_Q3_K:
        case GGML_TYPE_MXFP4:
            return m >= 64;
        case GGML_TYPE_Q5_0:
        case GGML_TYPE_Q2_K:
        case GGML_TYPE_Q6_K:
        case GGML_TYPE_IQ4_NL:
            return m >= (bf16 ? 128 : never);
        default:
            return false;
    }
}

int64_t product_scratch(ggml_type type, int64_t m, int64_t k, int threads) {
    return of_chosen().wanted_bytes(type, m, k) * threads + 64;  // to align it
}

void multiply(const product &p, int ith, int nth) { variants[p.measured].product_part(p, ith, nth); }

void check(const checked_product &p, int ith, int nth) { of_chosen().check_part(p, ith, nth); }

void convolve(const conv &c, int ith, int nth) { variants[c.measured].conv_part(c, ith, nth); }

processor chosen_processor() { return chosen; }

processor processor_in_use() { return chosen.load(std::memory_order_relaxed); }

bool limit_processor(processor p) {
    const processor has = best();
    chosen = p < has ? p : has;
    return p <= has;
}

}  // namespace shim
