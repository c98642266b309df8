/*
 * Compiles the file that BODY names for every processor, AVX2 and AVX-512, each in a
 * namespace of its own, with LANES floats to a vector. Included inside a namespace, once
 * in a file; see cpu_targets.h.
 */
namespace every {
#define LANES 4
#include BODY
#undef LANES
}  // namespace every

#if defined(SHIM_X86_VARIANTS)

BEGIN_FOR("avx2,fma,f16c")
namespace avx2 {
#define LANES 8
#include BODY
#undef LANES
}  // namespace avx2
END_FOR

BEGIN_FOR("avx512f,avx512bw,fma,f16c")
namespace avx512 {
#define LANES 16
#include BODY
#undef LANES
}  // namespace avx512
END_FOR

#endif
#undef BODY
