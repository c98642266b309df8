#include "cpu_rope.h"

#include <cmath>
#include <cstring>

#include "cpu_targets.h"

namespace shim {

namespace {

#define BODY "cpu_rope_body.h"
#include "cpu_each_target.h"

struct variant {
    void (*angles_part)(const rope_angles &, int, int);
    void (*rotate_part)(const rope &, int, int);
};

const variant &of_processor() {
    static const variant variants[] = {
        {every::angles_part, every::rotate_part},
#if defined(SHIM_X86_VARIANTS)
        {avx2::angles_part, avx2::rotate_part},
        {avx512::angles_part, avx512::rotate_part},
        {avx512::angles_part, avx512::rotate_part},
#endif
    };
    return variants[processor_in_use()];
}

}  // namespace

void rope_frequencies::fill(float *dst) const {
    const int64_t half = leaf->ne[0];
    for (int64_t i = 0; i < half; i++) {
        const double f = scale * std::pow(base, -double(i) / double(half));
        dst[i] = float(f);
        dst[half + i] = float(f - dst[i]);
    }
}

void find_angles(const rope_angles &a, int ith, int nth) { of_processor().angles_part(a, ith, nth); }
void rotate(const rope &r, int ith, int nth) { of_processor().rotate_part(r, ith, nth); }

}  // namespace shim
