#include "cpu_snake.h"

#include <cmath>
#include <cstring>

#include "cpu_targets.h"
#include "cpu_variants.h"

namespace shim {

namespace {

#define BODY "cpu_snake_body.h"
#include "cpu_each_target.h"

}  // namespace

void apply_snake(const snake &s, int ith, int nth) {
    static void (*const variants[])(const snake &, int, int) = {
        every::snake_part,
#if defined(SHIM_X86_VARIANTS)
        avx2::snake_part,
        avx512::snake_part,
        avx512::snake_part,
#endif
    };
    variants[processor_in_use()](s, ith, nth);
}

}  // namespace shim
