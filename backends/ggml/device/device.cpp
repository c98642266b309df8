#include "struct.h"

#include <memory>

#include "../library/tensor_header.h"
#include "device.h"

namespace {

ggml_backend_reg_t reg_of(shim_plugin *p) { return reinterpret_cast<ggml_backend_reg_t>(p); }

}  // namespace

ggml_backend_buffer_t shim::allocate(shim_device &device, size_t bytes, const char *what) {
    const size_t limit = gg.backend_buft_get_max_size(device.memory);
    if (bytes > limit) {
        fail(out_of_memory, "%s takes %zu bytes, %s has no piece of memory larger than %zu", what, bytes,
             gg.backend_dev_name(device.dev), limit);
    }
    ggml_backend_buffer_t buffer = device.cpu ? nullptr : device.spare.take(bytes);
    if (buffer == nullptr) buffer = gg.backend_buft_alloc_buffer(device.memory, bytes);
    if (buffer == nullptr) {
        device.spare.free_all();
        buffer = gg.backend_buft_alloc_buffer(device.memory, bytes);
    }
    if (buffer == nullptr) {
        size_t free = 0, total = 0;
        gg.backend_dev_memory(device.dev, &free, &total);
        fail(out_of_memory, "%s takes %zu bytes, %s has %zu free of %zu", what, bytes, gg.backend_dev_name(device.dev),
             free, total);
    }
    return buffer;
}

void shim::release(shim_device &device, ggml_backend_buffer_t buffer) {
    if (device.cpu) {
        gg.backend_buffer_free(buffer);
    } else {
        device.spare.give(buffer);
    }
}

size_t shim::padded_bytes(shim_device &device, const ggml_tensor *t) {
    const size_t alignment = gg.backend_buft_get_alignment(device.memory);
    const size_t bytes = gg.backend_buft_get_alloc_size(device.memory, t);
    return (bytes + alignment - 1) / alignment * alignment;
}

int32_t shim_device_new(shim_plugin *plugin, int32_t index, bool cpu, shim_device **out) {
    return shim::guarded([&] {
        ggml_backend_dev_t dev = gg.backend_reg_dev_get(reg_of(plugin), index);
        ggml_backend_buffer_type_t memory = gg.backend_dev_buffer_type(dev);
        auto device = std::make_unique<shim_device>();
        device->dev = dev;
        device->memory = memory;
        device->cpu = cpu;
        if (cpu) shim::find_layouts(*device, reg_of(plugin));
        *out = device.release();
    });
}

void shim_device_free(shim_device *device) {
    shim::guarded([&] {
        device->spare.free_all();
        for (ggml_backend_buffer_t empty : device->layouts) gg.backend_buffer_free(empty);
    });
    delete device;
}
int32_t shim_device_memory(shim_device *device, uint64_t *out_total, uint64_t *out_free) {
    return shim::on_device(*device, [&] {
        size_t free = 0, total = 0;
        gg.backend_dev_memory(device->dev, &free, &total);
        *out_total = total;
        *out_free = free;
    });
}
size_t shim_device_alignment(const shim_device *device) { return gg.backend_buft_get_alignment(device->memory); }
const char *shim_device_description(const shim_device *device) { return gg.backend_dev_description(device->dev); }

namespace {

/* Memory for a weight; its tensor, that of the header, is placed there. */
ggml_backend_buffer_t weight_memory(shim_device &device, ggml_tensor *tensor) {
    ggml_backend_buffer_t buffer = shim::allocate(device, shim::padded_bytes(device, tensor), "a weight");
    try {
        gg.backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        gg.backend_tensor_alloc(buffer, tensor, gg.backend_buffer_get_base(buffer));
    } catch (...) {
        shim::release(device, buffer);
        throw;
    }
    return buffer;
}

}  // namespace

int32_t shim_weight_new(shim_device *device, int32_t type, const int64_t ne[4], void *data, size_t bytes,
                        ggml_backend_buffer **out) {
    return shim::on_device(*device, [&] {
        if (device->cpu) {
            *out = gg.backend_cpu_buffer_from_ptr(data, bytes);
            return;
        }
        shim::tensor_header header(type, ne);
        ggml_backend_buffer_t buffer = weight_memory(*device, header.tensor);
        try {
            gg.backend_tensor_set(header.tensor, data, 0, bytes);
        } catch (...) {
            shim::release(*device, buffer);
            throw;
        }
        *out = buffer;
    });
}

int32_t shim_weight_alloc(shim_device *device, int32_t type, const int64_t ne[4], ggml_backend_buffer **out) {
    return shim::on_device(*device, [&] {
        shim::tensor_header header(type, ne);
        *out = weight_memory(*device, header.tensor);
    });
}

void shim_buffer_free(shim_device *device, ggml_backend_buffer *buffer) {
    shim::guarded([&] { shim::release(*device, buffer); });
}
