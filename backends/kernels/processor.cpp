#include "processor.h"

#include <atomic>

#include "targets.h"

namespace kernels {

namespace {

/* The best processor, of those that the kernels know, that this one is. */
processor best() {
#if defined(KERNELS_X86)
    // Each asks for all that its variants are compiled for.
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return any_processor;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        return __builtin_cpu_supports("avx512bf16") ? with_avx512_bf16 : with_avx512;
    }
    if (__builtin_cpu_supports("avx2")) return with_avx2;
#endif
    return any_processor;
}

std::atomic<processor> chosen{best()};

}  // namespace

processor processor_in_use() { return chosen.load(std::memory_order_relaxed); }

}  // namespace kernels

int32_t kernels_processor(void) { return kernels::processor_in_use(); }

bool kernels_limit(int32_t p) {
    const kernels::processor has = kernels::best();
    kernels::chosen = p < has ? kernels::processor(p) : has;
    return p <= has;
}
