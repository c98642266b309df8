/*
 * Loops that the compiler turns into vector instructions by itself, for kernels that need
 * no variants of their own: see product.cpp and each_target.h for those that do.
 */
#ifndef KERNELS_LANES_H
#define KERNELS_LANES_H

#include <cstdint>
#include <cstring>

// Compiles a function for several processors, of which the loader takes the best.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_X86 __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EVERY_X86
#endif

namespace kernels {

// So many numbers are computed side by side: loops over them become vector
// instructions, at -O2 too since their length is fixed.
constexpr int64_t lane = 16;

/* e^x to within 2 units in the last place, by e^x = 2^n e^r with |r| <= ln(2)/2 and
 * the Taylor series of e^r (Cody and Waite, Software Manual for the Elementary
 * Functions, 1980). Beyond what f32 holds x is cut off; NaN stays NaN. */
inline float exponential(float x) {
    const float cut = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float shifted = cut * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the sum's last bits are n
    const float n = shifted - 12582912.0f;
    const float r = cut - n * 0.693359375f - n * -2.12194440e-4f;
    const float series =
        1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
    int32_t bits, power;
    std::memcpy(&bits, &series, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += static_cast<int32_t>(static_cast<uint32_t>(power) << 23);
    float y;
    std::memcpy(&y, &bits, sizeof y);
    return x != x ? x : y;
}

inline float sigmoid(float x) { return 1 / (1 + exponential(-x)); }
inline float hyperbolic_tangent(float x) { return 2 * sigmoid(2 * x) - 1; }

}  // namespace kernels

#endif
