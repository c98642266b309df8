/*
 * Attention on the CPU: softmax(scale q k^T + mask) v in f32 sums whatever the dtype of
 * the keys and values, without the scores in memory. Compiled for several instruction
 * sets, of which the best that the processor has is taken.
 */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernel.h"

namespace kernels {

/*
 * q [t, heads, d], k [n, kv_heads, d], v [n, kv_heads, dv]: f32, f16 or bf16 for k and v,
 * f32 for q; the elements of a head lie side by side, the strides are in bytes.
 *
 * Query j sees the keys of [0, n), with causal or positions those up to position j,
 * which is n - t + j or positions[j], with a window only so many of these.
 *
 * The work is cut into pieces by the shapes alone, each summed in one order by one
 * thread: the numbers do not depend on how many threads there are.
 */
struct attention {
    int32_t k_type, v_type;  // of kernel.h
    const char *q, *k, *v;
    size_t q_row, q_head, k_row, k_head, v_row, v_head;
    int64_t t, heads, kv_heads, n, d, dv;
    float scale;
    bool causal;
    int64_t window;            // 0: all
    const int32_t *positions;  // null for none
    const float *mask;         // [t, n], added to the scores; null for none
    size_t mask_row;

    /*
     * y is [t, heads, dv] where one piece sees all keys. Otherwise each piece has a chunk
     * of so many keys, and y is [chunks, t * heads, dv + 2]: behind a chunk's result stand
     * its largest score and the sum of its exponentials, for combine().
     */
    int64_t chunk;
    float *y;
    scratch memory;
};

/* Computes the part of thread ith of nth. */
void attend(const attention &a, int ith, int nth);

/* y [rows, dv] from [chunks, rows, dv + 2]. */
void combine(const float *parts, int64_t chunks, int64_t rows, int64_t dv, float *y, int ith, int nth);

}  // namespace kernels

#endif
