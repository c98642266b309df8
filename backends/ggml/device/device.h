/*
 * A device of ggml's, as C: its memory, and the weights there. Failures are told as by
 * library/library.h.
 */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include "../library/library.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_backend_buffer;

/* A device of a plugin, shared by streams. */
struct shim_device;
int32_t shim_device_new(struct shim_plugin *plugin, int32_t index, bool cpu, struct shim_device **out);
void shim_device_free(struct shim_device *device);
size_t shim_device_alignment(const struct shim_device *device);
const char *shim_device_description(const struct shim_device *device);
/* The device's memory now, in bytes. CUDA makes a context for it. */
int32_t shim_device_memory(struct shim_device *device, uint64_t *out_total, uint64_t *out_free);

/*
 * Host memory as a device tensor's memory: on the CPU the memory itself, which
 * must stay; on other devices a copy.
 */
int32_t shim_weight_new(struct shim_device *device, int32_t type, const int64_t ne[4], void *data, size_t bytes,
                        struct ggml_backend_buffer **out);
void shim_buffer_free(struct shim_device *device, struct ggml_backend_buffer *buffer);
/* Memory of a weight on a device that is no CPU, to be filled by a stager. */
int32_t shim_weight_alloc(struct shim_device *device, int32_t type, const int64_t ne[4],
                          struct ggml_backend_buffer **out);

/* ---------------------------------------------------------------- Stager -- */

/*
 * Pinned pieces of host memory, and a queue of the device's that copies out of them
 * while the host fills others. One thread at a time may call it. out is null where
 * the device has no pinned memory.
 */
struct shim_stager;
int32_t shim_stager_new(struct shim_device *device, int32_t pieces, size_t bytes, struct shim_stager **out);
void shim_stager_free(struct shim_stager *s);
void *shim_stager_piece(const struct shim_stager *s, int32_t piece);
/* Begins to copy bytes of a piece to a weight's memory from an offset on. */
int32_t shim_stager_send(struct shim_stager *s, int32_t piece, int32_t type, const int64_t ne[4],
                         struct ggml_backend_buffer *to, size_t offset, size_t bytes);
/* Waits until the last copy out of a piece has ended. */
int32_t shim_stager_wait(struct shim_stager *s, int32_t piece);

/*
 * The layouts, counted from 0, in which the CPU can keep a product's weight rearranged
 * for its instruction set: those of ggml's extra buffer types. shim_repack_layout() gives
 * the one in which it multiplies so many rows with such a weight, -1 where there is none.
 */
int32_t shim_repack_layout(struct shim_device *device, int32_t type, const int64_t ne[4], int64_t rows,
                           int32_t *out_layout);
/* ggml's name of a layout: "CPU_REPACK". */
const char *shim_repack_name(const struct shim_device *device, int32_t layout);
/* What a weight takes in a layout, and whether its rows can be put there in parts. */
int32_t shim_repack_bytes(struct shim_device *device, int32_t layout, int32_t type, const int64_t ne[4],
                          size_t *out_bytes, bool *out_divisible);
/* Memory for a weight in a layout, to be filled by shim_repack_rows(). */
int32_t shim_repack_new(struct shim_device *device, int32_t layout, size_t bytes, struct ggml_backend_buffer **out);
/* The memory that it lies in. */
void *shim_repack_memory(struct ggml_backend_buffer *buffer);
/*
 * Fills in rows that begin at an offset in bytes of the whole weight; ne are their own
 * extents. Several threads may fill different rows at a time.
 */
int32_t shim_repack_rows(struct shim_device *device, struct ggml_backend_buffer *buffer, int32_t type,
                         const int64_t ne[4], size_t offset, const void *data);

#ifdef __cplusplus
}
#endif

#endif
