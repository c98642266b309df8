/* A device of a plugin, as the streams of one backend share it. */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <atomic>
#include <utility>
#include <vector>

#include "guard.h"
#include "spare_memory.h"
#include "table.h"

struct shim_device {
    ggml_backend_dev_t dev = nullptr;
    ggml_backend_buffer_type_t memory = nullptr;
    bool cpu = false;
    shim::spare_memory spare;  // not used on the CPU
    // Empty buffers of the CPU's extra types, to ask with; see repack.cpp.
    std::vector<ggml_backend_buffer_t> layouts;

    // Set once by the first failure after which the device cannot be trusted; from
    // then on every use of it gives that failure.
    std::atomic<int32_t> poison{0};
    char poison_text[2048] = {};

    void condemn(shim::status code) noexcept;
    void check() const;
};

namespace shim {

/* Runs f, which uses the device: a failed assertion or a lost device condemns it. */
template <class F>
status on_device(shim_device &device, F &&f) noexcept {
    const status code = guarded([&] {
        device.check();
        f();
    });
    if (code == device_lost || code == internal) device.condemn(code);
    return code;
}

/* Memory of the device for tensors of so many bytes, or out_of_memory naming what they are for. */
ggml_backend_buffer_t allocate(shim_device &device, size_t bytes, const char *what);

/* Gives back what allocate gave, or what points at the host's memory. */
void release(shim_device &device, ggml_backend_buffer_t buffer);

/* Finds the layouts of a CPU. */
void find_layouts(shim_device &device, ggml_backend_reg_t reg);

/* How many bytes the tensor takes on the device, rounded up so that another can follow. */
size_t padded_bytes(shim_device &device, const ggml_tensor *t);

}  // namespace shim

#endif
