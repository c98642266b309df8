#include "cpu_conv.h"

#include <algorithm>
#include <atomic>
#include <cstring>

// Vectors stay within this file: it does not matter how others would pass them.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace shim {

namespace every {
#define LANES 4
#include "cpu_conv_body.h"
#undef LANES
}  // namespace every

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SHIM_X86_VARIANTS

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#define LANES 8
#include "cpu_conv_body.h"
#undef LANES
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,fma")
namespace avx512 {
#define LANES 16
#include "cpu_conv_body.h"
#undef LANES
}  // namespace avx512
#pragma GCC pop_options
#endif

namespace {

using conv_part = void (*)(const conv &, int, int);

/* The widest variant of at most so many lanes that the processor has. */
conv_part widest(int lanes) {
#if defined(SHIM_X86_VARIANTS)
    if (lanes >= 16 && __builtin_cpu_supports("avx512f")) return avx512::conv_part;
    if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::conv_part;
#endif
    (void)lanes;
    return every::conv_part;
}

std::atomic<conv_part> chosen{widest(16)};

}  // namespace

void convolve(const conv &c, int ith, int nth) { chosen.load(std::memory_order_relaxed)(c, ith, nth); }

void limit_conv_lanes(int lanes) { chosen = widest(lanes); }

}  // namespace shim
