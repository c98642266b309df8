#include "cpu_norm.h"

#include <cstring>

#include "cpu_targets.h"
#include "cpu_variants.h"

namespace shim {

namespace {

#define BODY "cpu_norm_body.h"
#include "cpu_each_target.h"

}  // namespace

void normalise(const norm &p, int ith, int nth) {
    static void (*const variants[])(const norm &, int, int) = {
        every::normalise_part,
#if defined(SHIM_X86_VARIANTS)
        avx2::normalise_part,
        avx512::normalise_part,
        avx512::normalise_part,
#endif
    };
    variants[processor_in_use()](p, ith, nth);
}

}  // namespace shim
