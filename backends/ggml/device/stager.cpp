/* Pinned pieces of host memory out of which a device copies on a queue of its own. */
#include <memory>
#include <vector>

#include "../library/tensor_header.h"
#include "device.h"
#include "struct.h"

namespace {

struct piece {
    ggml_backend_buffer_t memory = nullptr;
    ggml_backend_event_t copied = nullptr;  // null where the device has no events
};

}  // namespace

struct shim_stager {
    shim_device &device;
    ggml_backend_t queue = nullptr;
    std::vector<piece> pieces;

    explicit shim_stager(shim_device &d) : device(d) {}
    ~shim_stager() {
        shim::guarded([&] {
            if (queue != nullptr) gg.backend_synchronize(queue);
        });
        shim::guarded([&] {
            for (const piece &p : pieces) {
                gg.backend_event_free(p.copied);
                if (p.memory != nullptr) gg.backend_buffer_free(p.memory);
            }
            if (queue != nullptr) gg.backend_free(queue);
        });
    }
    shim_stager(const shim_stager &) = delete;
    shim_stager &operator=(const shim_stager &) = delete;

    /* Makes so many pieces; false where their memory is not pinned. */
    bool fill(int32_t count, size_t bytes) {
        ggml_backend_buffer_type_t pinned = gg.backend_dev_host_buffer_type(device.dev);
        if (pinned == nullptr) return false;
        pieces.resize(static_cast<size_t>(count));
        for (piece &p : pieces) {
            p.memory = gg.backend_buft_alloc_buffer(pinned, bytes);
            // Where none is left, ggml gives other memory.
            if (p.memory == nullptr || gg.backend_buffer_get_type(p.memory) != pinned) return false;
            p.copied = gg.backend_event_new(device.dev);
        }
        queue = gg.backend_dev_init(device.dev, nullptr);
        return queue != nullptr;
    }
};

int32_t shim_stager_new(shim_device *device, int32_t pieces, size_t bytes, shim_stager **out) {
    return shim::on_device(*device, [&] {
        auto s = std::make_unique<shim_stager>(*device);
        *out = s->fill(pieces, bytes) ? s.release() : nullptr;
    });
}

void shim_stager_free(shim_stager *s) { delete s; }

void *shim_stager_piece(const shim_stager *s, int32_t piece) {
    void *base = nullptr;
    shim::guarded([&] { base = gg.backend_buffer_get_base(s->pieces[static_cast<size_t>(piece)].memory); });
    return base;
}

int32_t shim_stager_send(shim_stager *s, int32_t piece, int32_t type, const int64_t ne[4], ggml_backend_buffer *to,
                         size_t offset, size_t bytes) {
    return shim::on_device(s->device, [&] {
        // The weight's memory was made ready when it was allocated: the header only
        // points there.
        shim::tensor_header header(type, ne);
        header.tensor->buffer = to;
        header.tensor->data = gg.backend_buffer_get_base(to);
        const auto &from = s->pieces[static_cast<size_t>(piece)];
        gg.backend_tensor_set_async(s->queue, header.tensor, gg.backend_buffer_get_base(from.memory), offset, bytes);
        if (from.copied != nullptr) gg.backend_event_record(from.copied, s->queue);
    });
}

int32_t shim_stager_wait(shim_stager *s, int32_t piece) {
    return shim::on_device(s->device, [&] {
        ggml_backend_event_t copied = s->pieces[static_cast<size_t>(piece)].copied;
        if (copied != nullptr) {
            gg.backend_event_synchronize(copied);
        } else {
            gg.backend_synchronize(s->queue);
        }
    });
}
