/* Which variant of the kernels is taken. */
#ifndef KERNELS_PROCESSOR_H
#define KERNELS_PROCESSOR_H

#include "kernels.h"

namespace kernels {

/* Kinds of processors by what of them the kernels know to use. */
enum processor : int32_t {
    any_processor = KERNELS_ANY_PROCESSOR,
    with_avx2 = KERNELS_AVX2,
    with_avx512 = KERNELS_AVX512,
    with_avx512_bf16 = KERNELS_AVX512_BF16,
};

/* What the kernels use of this one. */
processor processor_in_use();

}  // namespace kernels

#endif
