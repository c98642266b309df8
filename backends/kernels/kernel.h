/*
 * What every kernel's file includes. A kernel enters itself:
 *
 *     void run(const call *c, int ith, int nth) { ... }
 *     const kernel entry("snake", run, {KERNELS_DENSE});
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels.h"

namespace kernels {

/* GGUF's numbers of those types that kernels know by name. */
enum dtype : int32_t { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, I8 = 24, I16 = 25, I32 = 26, I64 = 27, BF16 = 30 };

using element_type = kernels_type;
using tensor = kernels_tensor;
using call = kernels_call;

/* One entry of the list of kernels, which it joins as it is constructed. */
struct kernel : kernels_kernel {
    kernel(const char *name, kernels_run *run, const kernels_operator &as_operator = {}, int32_t cached = -1);
};

/* The part of n things that is for thread ith of nth. */
struct part {
    int64_t begin, end;
    part(int64_t n, int ith, int nth) : begin(n * ith / nth), end(n * (ith + 1) / nth) {}
};

/* Memory for all threads of a product or convolution, aligned to 64 bytes. */
struct scratch {
    char *data;
    int64_t bytes;
};

/* Of an input that is scratch memory, which backends align less than vectors like. */
inline scratch memory_of(const tensor &t) {
    const size_t behind = -reinterpret_cast<uintptr_t>(t.data) % 64;
    return {static_cast<char *>(t.data) + behind, int64_t(t.ne[0] - behind)};
}

inline int64_t rows_of(const tensor &t) { return t.ne[1] * t.ne[2] * t.ne[3]; }

inline const float *floats_of(const tensor &t) { return static_cast<const float *>(t.data); }

/* Input i as floats; null where there is none. */
inline const float *floats_if(const call *c, int i) { return i < c->inputs ? floats_of(c->in[i]) : nullptr; }

/* A number of a call, of 4 bytes or, in two halves of which the low one comes first, of 8. */
template <class T>
T number_at(const int32_t *numbers) {
    T v;
    std::memcpy(&v, numbers, sizeof v);
    return v;
}

}  // namespace kernels

#endif
