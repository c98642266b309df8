/*
 * The shim between Go and ggml: plain C over C++. Every call of ggml goes through
 * it, device/device.h or library/library.h, and no C++ exception leaves it. A function that can fail returns a status
 * (the numbers of core/status, 0 for success) and leaves the words with
 * shim_failure_text() on the same thread.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_tensor;

/* ---------------------------------------------------------------- Stream -- */

/* One session's work: its scratch memory, its threads, its queue. */
struct shim_stream;
int32_t shim_stream_new(struct shim_device *device, struct shim_stream **out);
/*
 * After an assertion failed in a run on several threads, the others wait in the stream's
 * memory for ever: then it is abandoned, and it and what it uses are never given back.
 */
bool shim_stream_abandoned(const struct shim_stream *stream);
void shim_stream_free(struct shim_stream *stream); /* not of one that is abandoned */
size_t shim_stream_scratch(const struct shim_stream *stream);
/* A state tensor's memory, zeroed. */
int32_t shim_state_new(struct shim_stream *stream, int32_t type, const int64_t ne[4], struct ggml_backend_buffer **out);
int32_t shim_state_reset(struct shim_stream *stream, struct ggml_backend_buffer *buffer);
int32_t shim_state_read(struct shim_stream *stream, struct ggml_backend_buffer *buffer, int64_t offset, void *dst,
                        int64_t bytes);
int32_t shim_state_write(struct shim_stream *stream, struct ggml_backend_buffer *buffer, int64_t offset,
                         const void *src, int64_t bytes);

/* --------------------------------------------------------------- Builder -- */

/*
 * Collects the tensors of one graph. Its functions never fail on the spot: after
 * a failure they give null and do nothing more, and shim_builder_status() tells.
 */
struct shim_builder;
struct shim_builder *shim_builder_new(void);
void shim_builder_free(struct shim_builder *b);
int32_t shim_builder_status(const struct shim_builder *b, const char **out_text);

/* A tensor without an operator; place it with one of the functions below. */
struct ggml_tensor *shim_leaf(struct shim_builder *b, int32_t type, const int64_t ne[4]);
/* Puts a leaf at the start of a weight's or state's memory. */
void shim_place(struct shim_builder *b, struct ggml_tensor *leaf, struct ggml_backend_buffer *buffer);
/* Has input i uploaded to the leaf at each run that gives it, i64 narrowed to i32 where narrow. */
void shim_upload(struct shim_builder *b, int32_t input, struct ggml_tensor *leaf, bool narrow);

/*
 * Has the leaf, f16 or f32 [n, t], filled with the mask of an attention: key i is
 * visible to query j iff i <= p and, with a window > 0, i > p - window. p is
 * positions[j] of input i at each run or, where input is -1, n - t + j.
 */
void shim_mask(struct shim_builder *b, int32_t input, struct ggml_tensor *leaf, int64_t window, bool wide);
/* Has the leaf, f32 or i32, filled once: element i is start + step * (i % period). */
void shim_sequence(struct shim_builder *b, struct ggml_tensor *leaf, double start, double step, int64_t period);
/*
 * Has the leaf, f32 [2, half], filled once with scale * base^(-i/half), each the sum of
 * two floats; see rope.h of the kernels.
 */
void shim_rope_frequencies(struct shim_builder *b, struct ggml_tensor *leaf, double base, double scale);

/* Has the tensor, and what it needs, computed after what was expanded before. */
void shim_expand(struct shim_builder *b, struct ggml_tensor *t);
/* Makes a contiguous tensor the source of output i. */
void shim_download(struct shim_builder *b, int32_t output, struct ggml_tensor *t);

/* Whether the device computes the tensor's operator; if not, the tensor is dropped. */
bool shim_take_if_supported(struct shim_builder *b, struct shim_device *device, struct ggml_tensor *t);
/* Whether the device computes all operators collected so far; the first refused is named. */
bool shim_builder_supported(struct shim_builder *b, struct shim_device *device, const char **out_refused);

/* ------------------------------------------------------------ Executable -- */

struct shim_exec;

/*
 * Makes what was collected ready to run and takes the builder over, also on failure.
 * It may take so many bytes as are free.
 */
int32_t shim_exec_new(struct shim_stream *stream, struct shim_builder *b, size_t free, struct shim_exec **out);
/* False: the stream is abandoned, and what the executable used must stay as it is. */
bool shim_exec_free(struct shim_exec *e);
/* Whether a run on so many CPU threads is likely to take less time than on one; flops are
 * what the operators compute. */
bool shim_exec_worth_sharing(const struct shim_exec *e, int32_t threads, double flops);
size_t shim_exec_io_bytes(const struct shim_exec *e);

struct shim_span {
    void *data;
    size_t bytes;
};

struct shim_timing {
    int64_t upload_ns, compute_ns, download_ns;
};

/*
 * One run: in and out are arrays of struct shim_span, timing may be 0. The
 * addresses are numbers so that Go need not look into them. lent: the CPU may compute
 * right in the spans' memory. After a failure the words are with shim_exec_failure().
 */
int32_t shim_exec_run(struct shim_exec *e, uintptr_t in, uintptr_t out, uintptr_t timing, uintptr_t cancel,
                      int32_t threads, bool lent);
const char *shim_exec_failure(const struct shim_exec *e);

/* For benchmarks: computes n times on one thread, no more than ggml does, and
 * gives the nanoseconds that one took. */
double shim_exec_measure(struct shim_exec *e, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
