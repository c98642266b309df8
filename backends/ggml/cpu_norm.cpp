#include "cpu_norm.h"

#include <cstring>

#include "cpu_targets.h"
#include "cpu_variants.h"

namespace shim {

namespace {

namespace every {
#define LANES 4
#include "cpu_norm_body.h"
#undef LANES
}  // namespace every

#if defined(SHIM_X86_VARIANTS)

BEGIN_FOR("avx2,fma,f16c")
namespace avx2 {
#define LANES 8
#include "cpu_norm_body.h"
#undef LANES
}  // namespace avx2
END_FOR

BEGIN_FOR("avx512f,avx512bw,fma,f16c")
namespace avx512 {
#define LANES 16
#include "cpu_norm_body.h"
#undef LANES
}  // namespace avx512
END_FOR

#endif

}  // namespace

void normalise(const norm &p, int ith, int nth) {
    static void (*const variants[])(const norm &, int, int) = {
        every::normalise_part,
#if defined(SHIM_X86_VARIANTS)
        avx2::normalise_part, avx512::normalise_part, avx512::normalise_part,
#endif
    };
    variants[processor_in_use()](p, ith, nth);
}

}  // namespace shim
