#include "devices.h"

#include "device.h"

int32_t shim_plugin_device_names(shim_plugin *plugin, int32_t index, const char **out_name,
                                 const char **out_description) {
    return shim::guarded([&] {
        const auto reg = reinterpret_cast<ggml_backend_reg_t>(plugin);
        ggml_backend_dev_t dev = gg.backend_reg_dev_get(reg, static_cast<size_t>(index));
        *out_name = gg.backend_dev_name(dev);
        *out_description = gg.backend_dev_description(dev);
    });
}

int32_t shim_device_memory(shim_device *device, uint64_t *out_total, uint64_t *out_free) {
    return shim::on_device(*device, [&] {
        size_t free = 0, total = 0;
        gg.backend_dev_memory(device->dev, &free, &total);
        *out_total = total;
        *out_free = free;
    });
}
