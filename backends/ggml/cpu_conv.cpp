#include "cpu_conv.h"

#include <algorithm>
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

void convolve(const conv &c, int ith, int nth) {
    static const auto best = [] {
#if defined(SHIM_X86_VARIANTS)
        if (__builtin_cpu_supports("avx512f")) return avx512::conv_part;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::conv_part;
#endif
        return every::conv_part;
    }();
    best(c, ith, nth);
}

}  // namespace shim
