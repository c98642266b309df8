/* One session's stream of work: scratch memory, threads, and a device's queue. */
#ifndef SHIM_STREAM_H
#define SHIM_STREAM_H

#include <memory>
#include <vector>

#include "contention.h"
#include "device/struct.h"
#include "threadpools.h"

struct shim_stream {
    shim_device &device;
    ggml_backend_t queue = nullptr;    // null on the CPU, which computes by graph_compute
    ggml_gallocr_t scratch = nullptr;  // shared by all executables, whose runs take turns
    shim::threadpools pools;
    shim::poison lost;  // set by a failed assertion: what it left half done is the stream's
    shim::waiting waiting;

    // Grows each time the scratch memory moves: graphs placed before point into the
    // old one and are placed again before their next run.
    uint64_t scratch_generation = 1;

    // Scratch memory that became too small and stays until the queue has gone; see
    // spare_memory.h.
    std::vector<ggml_gallocr_t> outgrown;
    size_t outgrown_bytes = 0;

    // What ggml's CPU kernels ask for beside the graph's tensors.
    std::unique_ptr<uint8_t[]> work;
    size_t work_bytes = 0;

    explicit shim_stream(shim_device &d);
    ~shim_stream();
    shim_stream(const shim_stream &) = delete;
    shim_stream &operator=(const shim_stream &) = delete;

    /* Puts the graph's tensors that have no memory yet into the scratch memory. */
    void place(ggml_cgraph *graph);

    /* Puts scratch memory of less than so many bytes aside. */
    void outgrow(size_t bytes);

    /* How much scratch memory the graph takes. */
    size_t scratch_for(ggml_cgraph *graph) const;

    uint8_t *work_memory(size_t bytes);

    /*
     * Whether nothing of the stream may be given back: threads that an assertion left
     * behind may still be at work in its memory, or a device's queue be half filled.
     */
    bool abandoned() const { return pools.abandoned() || (queue != nullptr && lost.is_set()); }
};

namespace shim {

/* Runs f, which uses the stream: a failed assertion in it is the end of the stream. */
template <class F>
status on_stream(shim_stream &stream, F &&f) noexcept {
    const status code = on_device(stream.device, [&] {
        stream.lost.check("the session");
        f();
    });
    if (code == internal) stream.lost.set(code);
    return code;
}

}  // namespace shim

#endif
