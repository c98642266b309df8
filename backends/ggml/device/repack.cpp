/*
 * Weights that the CPU's products find rearranged for its instruction set, in ggml's
 * extra buffer types. What lies there can neither be read back nor changed.
 */
#include "../library/tensor_header.h"
#include "device.h"
#include "struct.h"

void shim::find_layouts(shim_device &device, ggml_backend_reg_t reg) {
    const auto types_of = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        gg.backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts"));
    if (types_of == nullptr) return;
    for (ggml_backend_buffer_type_t *type = types_of(device.dev); type != nullptr && *type != nullptr; type++) {
        ggml_backend_buffer_t empty = gg.backend_buft_alloc_buffer(*type, 0);
        if (empty != nullptr) device.layouts.push_back(empty);
    }
}

namespace {

ggml_backend_buffer_type_t type_of(const shim_device *device, int32_t layout) {
    return gg.backend_buffer_get_type(device->layouts.at(static_cast<size_t>(layout)));
}

}  // namespace

int32_t shim_repack_layout(shim_device *device, int32_t type, const int64_t ne[4], int64_t rows, int32_t *out_layout) {
    *out_layout = -1;
    return shim::guarded([&] {
        const shim::context owner = shim::new_context(3 * gg.tensor_overhead());
        const int64_t factor[4] = {ne[0], rows, 1, 1};
        ggml_tensor *weight = gg.new_tensor(owner.get(), static_cast<ggml_type>(type), GGML_MAX_DIMS, ne);
        ggml_tensor *x = gg.new_tensor(owner.get(), GGML_TYPE_F32, GGML_MAX_DIMS, factor);
        const ggml_tensor *product = gg.mul_mat(owner.get(), weight, x);
        for (size_t i = 0; i < device->layouts.size(); i++) {
            weight->buffer = device->layouts[i];
            if (!gg.backend_dev_supports_op(device->dev, product)) continue;
            *out_layout = static_cast<int32_t>(i);
            return;
        }
    });
}

const char *shim_repack_name(const shim_device *device, int32_t layout) {
    const char *name = "";
    shim::guarded([&] { name = gg.backend_buft_name(type_of(device, layout)); });
    return name;
}

int32_t shim_repack_bytes(shim_device *device, int32_t layout, int32_t type, const int64_t ne[4], size_t *out_bytes,
                          bool *out_divisible) {
    return shim::guarded([&] {
        const shim::tensor_header header(type, ne);
        *out_bytes = gg.backend_buft_get_alloc_size(type_of(device, layout), header.tensor);
        // Where it takes as much as before, rows have only moved among their neighbours.
        *out_divisible = *out_bytes == gg.nbytes(header.tensor);
    });
}

int32_t shim_repack_new(shim_device *device, int32_t layout, size_t bytes, ggml_backend_buffer **out) {
    return shim::guarded([&] {
        ggml_backend_buffer_t buffer = gg.backend_buft_alloc_buffer(type_of(device, layout), bytes);
        if (buffer == nullptr) shim::fail(shim::out_of_memory, "a rearranged weight takes %zu bytes", bytes);
        gg.backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        *out = buffer;
    });
}

void *shim_repack_memory(ggml_backend_buffer *buffer) { return gg.backend_buffer_get_base(buffer); }

int32_t shim_repack_rows(shim_device *device, ggml_backend_buffer *buffer, int32_t type, const int64_t ne[4],
                         size_t offset, const void *data) {
    return shim::on_device(*device, [&] {
        const shim::tensor_header rows(type, ne);
        gg.backend_tensor_alloc(buffer, rows.tensor, static_cast<char *>(gg.backend_buffer_get_base(buffer)) + offset);
        gg.backend_tensor_set(rows.tensor, data, 0, gg.nbytes(rows.tensor));
    });
}
