/* What a plugin tells about its devices before one of them is used. */
#ifndef SHIM_DEVICES_H
#define SHIM_DEVICES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shim_plugin;
struct shim_device;

/* The name that a device goes by in the plugin, such as "Vulkan0", and its own. */
int32_t shim_plugin_device_names(struct shim_plugin *plugin, int32_t index, const char **out_name,
                                 const char **out_description);

/* The device's memory now, in bytes. CUDA makes a context for it. */
int32_t shim_device_memory(struct shim_device *device, uint64_t *out_total, uint64_t *out_free);

#ifdef __cplusplus
}
#endif

#endif
