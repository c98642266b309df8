/* A device of a plugin, as the streams of one backend share it. */
#ifndef SHIM_DEVICE_STRUCT_H
#define SHIM_DEVICE_STRUCT_H

#include <utility>
#include <vector>

#include "../library/guard.h"
#include "../library/poison.h"
#include "../library/table.h"
#include "spare_memory.h"

struct shim_device {
    ggml_backend_dev_t dev = nullptr;
    ggml_backend_buffer_type_t memory = nullptr;
    bool cpu = false;
    shim::spare_memory spare;  // not used on the CPU
    // Empty buffers of the CPU's extra types, to ask with; see repack.cpp.
    std::vector<ggml_backend_buffer_t> layouts;

    shim::poison lost;  // set when the driver gave the device up
};

namespace shim {

/*
 * Runs f, which uses the device: one that is lost stays so for everybody. A failed
 * assertion spoils no more than what f was about, which its caller drops.
 */
template <class F>
status on_device(shim_device &device, F &&f) noexcept {
    const status code = guarded([&] {
        device.lost.check("the backend");
        f();
    });
    if (code == device_lost) device.lost.set(code);
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
