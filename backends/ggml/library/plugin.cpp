#include "guard.h"
#include "library.h"
#include "table.h"

// What ggml_backend_reg begins with in every version; the rest is the plugin's.
struct shim_plugin {
    int api_version;
};

namespace {

ggml_backend_reg_t reg_of(const shim_plugin *p) {
    return reinterpret_cast<ggml_backend_reg_t>(const_cast<shim_plugin *>(p));
}

}  // namespace

int32_t shim_plugin_score(uintptr_t score) {
    int32_t value = 0;
    shim::guarded([&] { value = reinterpret_cast<int (*)()>(score)(); });
    return value;
}

int32_t shim_plugin_enter(uintptr_t init, shim_plugin **out) {
    return shim::guarded([&] {
        *out = reinterpret_cast<shim_plugin *(*)()>(init)();
        if (*out == nullptr) shim::fail(shim::device_unavailable, "the plugin finds no driver");
    });
}

int32_t shim_plugin_api(const shim_plugin *plugin) { return plugin->api_version; }

int32_t shim_plugin_devices(shim_plugin *plugin, int32_t *out_count) {
    return shim::guarded([&] { *out_count = static_cast<int32_t>(gg.backend_reg_dev_count(reg_of(plugin))); });
}

int32_t shim_plugin_device_names(shim_plugin *plugin, int32_t index, const char **out_name,
                                 const char **out_description) {
    return shim::guarded([&] {
        ggml_backend_dev_t dev = gg.backend_reg_dev_get(reg_of(plugin), static_cast<size_t>(index));
        *out_name = gg.backend_dev_name(dev);
        *out_description = gg.backend_dev_description(dev);
    });
}
