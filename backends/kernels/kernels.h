/*
 * Kernels for the CPU, as C: what a backend hands to them, and what it can ask about
 * them. Each is a function over views of tensors that computes the part of thread ith of
 * nth; threads, memory and graphs are the caller's. A kernel's file carries its entry
 * (kernel.h); nothing else lists them.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes n elements of whole blocks as floats. */
typedef void kernels_expand(const void *blocks, float *floats, int64_t n);

/*
 * A type of elements, by its number in the GGUF format: blocks of so many elements in so
 * many bytes. Kernels read f32, f16, bf16 and integers themselves, and all others by
 * expand, which may be null for f32 and integers.
 */
struct kernels_type {
    int32_t is;
    int64_t block;
    size_t block_bytes;
    kernels_expand *expand;
};

/* A tensor of four axes, the innermost first: extents, and strides in bytes. */
struct kernels_tensor {
    const struct kernels_type *type;
    const int64_t *ne;
    const size_t *nb;
    void *data;
};

enum { KERNELS_INPUTS = 8, KERNELS_NUMBERS = 8 };

/* One use of a kernel: at most KERNELS_INPUTS inputs, and KERNELS_NUMBERS numbers. */
struct kernels_call {
    struct kernels_tensor out;
    const struct kernels_tensor *in;
    int32_t inputs;
    const int32_t *numbers;
};

typedef void kernels_run(const struct kernels_call *call, int32_t ith, int32_t nth);

/* How inputs must lie: their elements in order, those of each row side by side, anyhow. */
enum { KERNELS_DENSE = 1, KERNELS_ROWS, KERNELS_STRIDED };

/*
 * How a call of the operator that has the kernel's name is one call of the kernel: with
 * the operator's inputs in their order, its one output, and some attributes as numbers:
 * a real one as the bits of a float, an integer as its low and its high half.
 */
struct kernels_operator {
    int32_t inputs;                           /* how they must lie; 0: the kernel alone is no operator */
    bool any_order;                           /* of one input, element by element: its axes may stand in any order */
    const char *numbers[KERNELS_NUMBERS + 1]; /* the attributes, null behind the last */
};

struct kernels_kernel {
    const char *name;
    kernels_run *run;
    int32_t cached; /* the input that is hardly read, or stays in the caches; -1: none */
    struct kernels_operator as_operator;
    const struct kernels_kernel *next;
};

/* The first of all kernels, in no particular order. */
const struct kernels_kernel *kernels_first(void);

/*
 * Kinds of processors for which there are variants of the kernels, the least first. The
 * kernels use the best that this one is, unless tests limit them to a lesser one:
 * kernels_limit() says whether this one is of that kind.
 */
enum { KERNELS_ANY_PROCESSOR, KERNELS_AVX2, KERNELS_AVX512, KERNELS_AVX512_BF16, KERNELS_PROCESSORS };
int32_t kernels_processor(void);
bool kernels_limit(int32_t processor);

/*
 * Bytes of scratch memory, an input of i8, for "product" of m rows over k on so many
 * threads; or for "convolution" of m output channels, or positions where the channels
 * are last, over k elements of a kernel.
 */
int64_t kernels_product_scratch(int32_t type, int64_t m, int64_t k, int32_t threads);
/* Likewise for "attention" with heads of d elements, and of dv in values. */
int64_t kernels_attention_scratch(int64_t d, int64_t dv, int32_t threads);
/* How many keys "attention" puts into one piece: n, unless the queries alone give too few pieces. */
int64_t kernels_attention_chunk(int64_t t, int64_t heads, int64_t kv_heads, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
