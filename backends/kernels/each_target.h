/*
 * Compiles the file that BODY names for every processor, AVX2 and AVX-512, each in a
 * namespace of its own, with LANES floats to a vector. Included inside a namespace, once
 * in a file; see targets.h. Behind it OF_PROCESSOR(f) is f for the processor in use.
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
