/*
 * Compiles the file that BODY names for every processor, AVX2 and AVX-512, each in a
 * namespace of its own, with LANES floats to a vector. Included inside a namespace, once
 * in a file; see targets.h. Behind it OF_PROCESSOR(f) is f for the processor in use. With
 * BODY_USES_BF16 it is compiled for AVX-512 with bf16, too, where WITH_BF16 is defined.
 */
namespace every {
#define LANES 4
#include BODY
#undef LANES
}  // namespace every

#if defined(KERNELS_X86)

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

#if defined(BODY_USES_BF16)
BEGIN_FOR("avx512f,avx512bw,avx512bf16,fma,f16c")
namespace avx512_bf16 {
#define LANES 16
#define WITH_BF16
#include BODY
#undef WITH_BF16
#undef LANES
}  // namespace avx512_bf16
END_FOR
#endif

#define OF_PROCESSOR(f) of_processor(every::f, avx2::f, avx512::f)

template <class F>
F *of_processor(F *any, F *avx2, F *avx512) {
    const processor p = processor_in_use();
    return p == any_processor ? any : p == with_avx2 ? avx2 : avx512;
}

#else

#define OF_PROCESSOR(f) every::f

#endif
#undef BODY
