/*
 * Between Go and ggml as a library: plain C over C++. No C++ exception leaves it. A
 * function that can fail returns a status (the numbers of core/status, 0 for success) and
 * leaves the message with shim_failure_text() on the same thread.
 */
#ifndef SHIM_LIBRARY_H
#define SHIM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a symbol of the table is to be found. */
enum { SHIM_IN_BASE, SHIM_IN_BASE_OR_ABSENT, SHIM_IN_CPU };

/* The table's symbols by index, under the names that ggml's headers give them. */
int32_t shim_symbol_count(void);
const char *shim_symbol_name(int32_t i);
int32_t shim_symbol_where(int32_t i);
void shim_symbol_set(int32_t i, uintptr_t address);

/* Keeps the host's std::terminate handler, and puts it back: loading ggml sets its own. */
void shim_terminate_keep(void);
void shim_terminate_restore(void);

/*
 * Once the base library's symbols are set: checks that its structs are those that
 * the shim was compiled with (VERSION_MISMATCH), and routes its log and its
 * failed assertions here.
 */
int32_t shim_library_init(void);
const char *shim_library_version(void);

/* Stores rows of whole blocks in a quantised type; importance, of each column, may be null. */
int32_t shim_quantise(int32_t type, const float *src, void *dst, int64_t rows, int64_t per_row,
                      const float *importance);

/* Asks a CPU plugin's ggml_backend_score, given by address. */
int32_t shim_plugin_score(uintptr_t score);

/* The status and the words of the calling thread's last failure. */
int32_t shim_failure_code(void);
const char *shim_failure_text(void);

/* Receives log lines: 1 debug to 4 error. Null: they go nowhere. */
typedef void (*shim_log_sink)(int32_t level, const char *text, void *user);
void shim_log_set_sink(shim_log_sink sink, uintptr_t user);
bool shim_log_emit(int32_t level, const char *text);

/* The folder that this code was loaded from, as given to the loader and with
 * links resolved; "" if that could not be found. */
const char *shim_self_dir(void);
const char *shim_self_real_dir(void);

/* A plugin entered by its ggml_backend_init. */
struct shim_plugin;
int32_t shim_plugin_enter(uintptr_t init, struct shim_plugin **out);
int32_t shim_plugin_api(const struct shim_plugin *plugin);
int32_t shim_plugin_devices(struct shim_plugin *plugin, int32_t *out_count);
/* The name that a device goes by in the plugin, such as "Vulkan0", and its own. */
int32_t shim_plugin_device_names(struct shim_plugin *plugin, int32_t index, const char **out_name,
                                 const char **out_description);

#ifdef __cplusplus
}
#endif

#endif
