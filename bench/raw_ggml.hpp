// ggml's CPU backend as a careful C++ program would use it by itself: the best
// plugin for this machine, a kept threadpool. The yardstick.
//
// The libraries are qtsaccel's own copies, whose symbols begin with qtsg instead
// of ggml; the driver generates a header that maps the names, and compiles all
// with it.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <string>

namespace bench {

// A CPU backend with the contest's threads; one for the whole process, never freed.
ggml_backend_t raw_cpu();

// Gives every tensor of a context memory of its own, zeroed, that begins on a cache
// line: ggml's own allocator aligns to half of one, and then each AVX-512 load of a
// weight may touch two, which made Silero VAD 1.3 times slower. A view must come
// after what it views.
ggml_backend_buffer_t allocate_tensors(ggml_context *ctx);

// A graph and the tensors in it, all kept.
class RawGraph {
  public:
    RawGraph();
    ~RawGraph();
    RawGraph(const RawGraph &) = delete;
    RawGraph &operator=(const RawGraph &) = delete;

    ggml_context *ctx() const { return ctx_; }

    // Adds a result, and what it is computed from, to what compute() computes.
    void expand(ggml_tensor *result) { ggml_build_forward_expand(graph_, result); }

    // Gives all tensors their memory. None is reused: a graph this small gains
    // nothing from it, and its inputs and constants stay as they are.
    void allocate();

    void compute();

    int nodes() const { return ggml_graph_n_nodes(graph_); }

  private:
    ggml_context *ctx_;
    ggml_cgraph *graph_;
    ggml_backend_buffer_t buffer_ = nullptr;
};

// Makes node write its result into part of another tensor, from byte offset on,
// instead of memory of its own. What reads that tensor later in the graph must be
// added after node.
ggml_tensor *write_into(ggml_tensor *node, ggml_tensor *target, size_t offset);

}  // namespace bench
