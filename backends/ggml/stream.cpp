#include "stream.h"

#include "library/tensor_header.h"
#include "shim.h"

namespace {

constexpr size_t most_outgrown = 128 << 20;  // bytes

}  // namespace

shim_stream::shim_stream(shim_device &d) : device(d) {
    if (!device.cpu) {
        queue = gg.backend_dev_init(device.dev, nullptr);
        if (queue == nullptr) {
            shim::fail(shim::device_unavailable, "%s cannot be made ready", gg.backend_dev_name(device.dev));
        }
    }
    scratch = gg.gallocr_new(device.memory);
}

shim_stream::~shim_stream() {
    shim::guarded([&] {
        if (queue != nullptr) gg.backend_free(queue);
        if (scratch != nullptr) gg.gallocr_free(scratch);
        for (ggml_gallocr_t old : outgrown) gg.gallocr_free(old);
    });
}

size_t shim_stream::scratch_for(ggml_cgraph *graph) const {
    // An allocator of its own: measuring makes one forget what it has.
    const std::unique_ptr<ggml_gallocr, decltype(gg.gallocr_free)> measure(gg.gallocr_new(device.memory),
                                                                           gg.gallocr_free);
    size_t bytes = 0;
    gg.gallocr_reserve_n_size(measure.get(), graph, nullptr, nullptr, &bytes);
    return bytes;
}

void shim_stream::outgrow(size_t bytes) {
    const size_t size = gg.gallocr_get_buffer_size(scratch, 0);
    if (device.cpu || size == 0 || bytes <= size || outgrown_bytes + size > most_outgrown) return;
    ggml_gallocr_t larger = gg.gallocr_new(device.memory);
    try {
        outgrown.push_back(scratch);
    } catch (...) {
        gg.gallocr_free(larger);
        throw;
    }
    outgrown_bytes += size;
    scratch = larger;
}

void shim_stream::place(ggml_cgraph *graph) {
    outgrow(device.cpu ? 0 : scratch_for(graph));
    const size_t before = gg.gallocr_get_buffer_size(scratch, 0);
    // The allocator remembers the layout of the graph before, and takes it for this one's
    // where the numbers of tensors and their sizes fit, whatever depends on what.
    const bool placed = gg.gallocr_reserve(scratch, graph) && gg.gallocr_alloc_graph(scratch, graph);
    const size_t after = gg.gallocr_get_buffer_size(scratch, 0);
    // Memory in several pieces may move and be as large as before.
    const bool one_piece = after <= gg.backend_buft_get_max_size(device.memory);
    if (after != before || !one_piece) scratch_generation++;
    if (!placed) {
        size_t free = 0, total = 0;
        gg.backend_dev_memory(device.dev, &free, &total);
        shim::fail(shim::out_of_memory, "scratch memory of more than %zu bytes is needed, %s has %zu free of %zu",
                   before, gg.backend_dev_name(device.dev), free, total);
    }
}

uint8_t *shim_stream::work_memory(size_t bytes) {
    if (bytes > work_bytes) {
        work.reset(new uint8_t[bytes]);
        work_bytes = bytes;
    }
    return work.get();
}

int32_t shim_stream_new(shim_device *device, shim_stream **out) {
    return shim::on_device(*device, [&] { *out = new shim_stream(*device); });
}

void shim_stream_free(shim_stream *stream) { delete stream; }

bool shim_stream_abandoned(const shim_stream *stream) { return stream->abandoned(); }

size_t shim_stream_scratch(const shim_stream *stream) {
    size_t bytes = 0;
    shim::guarded([&] { bytes = gg.gallocr_get_buffer_size(stream->scratch, 0) + stream->work_bytes; });
    return bytes;
}

int32_t shim_state_new(shim_stream *stream, int32_t type, const int64_t ne[4], ggml_backend_buffer **out) {
    return shim::on_stream(*stream, [&] {
        shim::tensor_header header(type, ne);
        ggml_backend_buffer_t buffer =
            shim::allocate(stream->device, shim::padded_bytes(stream->device, header.tensor), "a state");
        try {
            gg.backend_buffer_clear(buffer, 0);
        } catch (...) {
            shim::release(stream->device, buffer);
            throw;
        }
        *out = buffer;
    });
}

int32_t shim_state_reset(shim_stream *stream, ggml_backend_buffer *buffer) {
    return shim::on_stream(*stream, [&] { gg.backend_buffer_clear(buffer, 0); });
}

namespace {

/* The first bytes of a buffer as a tensor of i8, to copy from and to. */
struct bytes_of : shim::tensor_header {
    bytes_of(ggml_backend_buffer *buffer, int64_t bytes) : tensor_header(GGML_TYPE_I8, shape{{bytes, 1, 1, 1}}.ne) {
        gg.backend_tensor_alloc(buffer, tensor, gg.backend_buffer_get_base(buffer));
    }
    struct shape {
        int64_t ne[4];
    };
};

}  // namespace

int32_t shim_state_read(shim_stream *stream, ggml_backend_buffer *buffer, int64_t offset, void *dst, int64_t bytes) {
    return shim::on_stream(*stream,
                           [&] { gg.backend_tensor_get(bytes_of(buffer, offset + bytes).tensor, dst, offset, bytes); });
}

int32_t shim_state_write(shim_stream *stream, ggml_backend_buffer *buffer, int64_t offset, const void *src,
                         int64_t bytes) {
    return shim::on_stream(*stream,
                           [&] { gg.backend_tensor_set(bytes_of(buffer, offset + bytes).tensor, src, offset, bytes); });
}
