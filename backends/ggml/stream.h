/* One session's stream of work: scratch memory, threads, and a device's queue. */
#ifndef SHIM_STREAM_H
#define SHIM_STREAM_H

#include <memory>
#include <vector>

#include "contention.h"
#include "device.h"
#include "threadpools.h"

struct shim_stream {
    shim_device &device;
    ggml_backend_t queue = nullptr;    // null on the CPU, which computes by graph_compute
    ggml_gallocr_t scratch = nullptr;  // shared by all executables, whose runs take turns
    shim::threadpools pools;
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
};

#endif
