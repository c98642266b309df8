/*
 * A graph made ready, and its run: everything is prepared, so that a run is
 * copying in, one compute, copying out.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "at_exit.h"
#include "builder.h"
#include "graph_cost.h"
#include "stream.h"

namespace {

int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

bool asked_to_stop(void *flag) {
    return __atomic_load_n(static_cast<int32_t *>(flag), __ATOMIC_RELAXED) != 0 || shim::exiting();
}

/*
 * A tensor that is copied from or to the host, and what views it: they may lie in the
 * host's own memory for the time of a run.
 */
struct at_host {
    ggml_tensor *tensor;
    std::vector<ggml_tensor *> views;
    char *own;  // where it lies otherwise

    void place(char *data) {
        tensor->data = data;
        for (ggml_tensor *v : views) v->data = data + v->view_offs;
    }
};

/* Kernels read floats from anywhere; vectors of them are not much slower from here. */
bool well_aligned(const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

}  // namespace

struct shim_exec {
    shim_stream &stream;
    std::unique_ptr<shim_builder> parts;
    shim::context graph_context;
    ggml_cgraph *graph = nullptr;
    ggml_backend_buffer_t io = nullptr;  // the leaves' memory
    size_t io_bytes = 0;
    std::vector<ggml_tensor *> scratched;  // whose memory is the stream's scratch
    uint64_t generation = 0;               // of the scratch memory that they point into
    std::vector<char> staging;             // for what is converted on its way to a device
    std::vector<at_host> in_place;         // on the CPU: of uploads, then of downloads
    std::vector<at_host *> lent;           // those that lie in the host's memory now
    char failure[2048] = {};

    // The CPU's plan for the thread number of the last run.
    ggml_cplan plan = {};
    int plan_threads = 0;

    shim_exec(shim_stream &s, std::unique_ptr<shim_builder> b) : stream(s), parts(std::move(b)) {}
    ~shim_exec() {
        shim::guarded([&] {
            if (io != nullptr) shim::release(stream.device, io);
        });
    }

    void make(size_t free);
    void check_scratch(size_t free) const;
    void check_extents() const;
    void place_leaves(size_t free);
    void place_scratch();
    void write(ggml_tensor *leaf, const void *data, size_t bytes);
    void write_sequence(const shim::sequence &s);
    void find_in_place();
    bool lend(size_t which, void *data);
    void lend_outputs(const shim_span *out);
    void take_back();
    void upload(const shim_span *in, bool may_lend);
    void download(const shim_span *out);
    void compute(int32_t threads, void *cancel);
    ggml_status compute_on_cpu(int32_t threads, void *cancel);
};

void shim_exec::make(size_t free) {
    // Every tensor may be a node or a leaf of the graph.
    size_t tensors = 0;
    parts->each_tensor([&](ggml_tensor *) { tensors++; });
    const size_t size = tensors + 1;
    graph_context = shim::new_context(gg.graph_overhead_custom(size, false));
    graph = gg.new_graph_custom(graph_context.get(), size, false);
    for (ggml_tensor *root : parts->roots) gg.build_forward_expand(graph, root);

    place_leaves(free);
    parts->each_tensor([&](ggml_tensor *t) {
        const ggml_tensor *root = t->view_src != nullptr ? t->view_src : t;
        if (root->data == nullptr) scratched.push_back(t);
    });
    check_scratch(free);
    check_extents();
    place_scratch();
    if (stream.device.cpu) find_in_place();

    for (const shim::sequence &s : parts->sequences) write_sequence(s);
    for (const shim::rope_frequencies &f : parts->frequencies) {
        std::vector<float> values(2 * f.leaf->ne[0]);
        f.fill(values.data());
        write(f.leaf, values.data(), values.size() * sizeof(float));
    }
    size_t most = 0;
    for (const shim::upload &u : parts->uploads) {
        if (u.narrow) most = std::max(most, u.bytes / 2);
    }
    for (const shim::mask &m : parts->masks) most = std::max(most, gg.nbytes(m.leaf));
    if (!stream.device.cpu) staging.resize(most);
    for (const shim::mask &m : parts->masks) {
        if (m.input >= 0) continue;
        if (stream.device.cpu) {
            m.fill(m.leaf->data, nullptr);
            continue;
        }
        std::vector<char> values(gg.nbytes(m.leaf));
        m.fill(values.data(), nullptr);
        write(m.leaf, values.data(), values.size());
    }
}

void shim_exec::place_leaves(size_t free) {
    for (ggml_tensor *leaf : parts->leaves) {
        const size_t bytes = shim::padded_bytes(stream.device, leaf);
        io_bytes = bytes < SIZE_MAX - io_bytes ? io_bytes + bytes : SIZE_MAX;
    }
    if (io_bytes == 0) return;
    if (io_bytes > free)
        shim::fail(shim::out_of_memory, "a plan's inputs take %zu bytes, %zu are free", io_bytes, free);
    io = shim::allocate(stream.device, io_bytes, "the memory of a plan's inputs");
    char *at = static_cast<char *>(gg.backend_buffer_get_base(io));
    for (ggml_tensor *leaf : parts->leaves) {
        gg.backend_tensor_alloc(io, leaf, at);
        at += shim::padded_bytes(stream.device, leaf);
    }
    // An input that is a step's mask or index must never be read unset.
    gg.backend_buffer_clear(io, 0);
}

/*
 * The system gives more host memory than there is and ends the process that uses
 * it: what is not there must not be asked for.
 */
void shim_exec::check_scratch(size_t free) const {
    size_t all = 0, largest = 0;
    for (const ggml_tensor *t : scratched) {
        if (t->view_src != nullptr) continue;
        const size_t bytes = shim::padded_bytes(stream.device, t);
        all = bytes < SIZE_MAX - all ? all + bytes : SIZE_MAX;
        largest = std::max(largest, bytes);
    }
    if (all <= free) return;
    const size_t has = gg.gallocr_get_buffer_size(stream.scratch, 0);
    // Sizes so large that ggml's sums of them would overflow are not measured.
    const size_t needs = largest > free && largest - free > has ? largest : stream.scratch_for(graph);
    if (needs > has && needs - has > free) {
        shim::fail(shim::out_of_memory, "scratch memory of %zu bytes is needed, %zu are free", needs, free + has);
    }
}

/*
 * ggml counts rows, and the elements of each, in int: what has more would be cut short
 * or meet an assertion. Our own kernels count in 64 bits, and views count nothing.
 */
void shim_exec::check_extents() const {
    const auto fits = [](const ggml_tensor *t) {
        int64_t rows = 1;
        for (int d = 1; d < GGML_MAX_DIMS; d++) rows *= t->ne[d];
        return t->ne[0] <= INT32_MAX && rows <= INT32_MAX;
    };
    parts->each_tensor([&](const ggml_tensor *t) {
        if (t->op == GGML_OP_NONE || t->op == GGML_OP_CUSTOM || t->op == GGML_OP_VIEW || t->op == GGML_OP_RESHAPE ||
            t->op == GGML_OP_PERMUTE || t->op == GGML_OP_TRANSPOSE) {
            return;
        }
        bool all = fits(t);
        for (const ggml_tensor *source : t->src) all = all && (source == nullptr || fits(source));
        if (all) return;
        shim::fail(shim::unsupported,
                   "ggml's %s counts rows, and the elements of a row, up to 2^31 - 1: [%lld, %lld, %lld, %lld] is more",
                   gg.op_desc(t), static_cast<long long>(t->ne[3]), static_cast<long long>(t->ne[2]),
                   static_cast<long long>(t->ne[1]), static_cast<long long>(t->ne[0]));
    });
}

void shim_exec::place_scratch() {
    for (ggml_tensor *t : scratched) {
        t->data = nullptr;
        t->buffer = nullptr;
        t->extra = nullptr;
    }
    generation = 0;
    stream.place(graph);
    generation = stream.scratch_generation;
}

void shim_exec::write(ggml_tensor *leaf, const void *data, size_t bytes) {
    if (stream.device.cpu) {
        std::memcpy(leaf->data, data, bytes);
    } else {
        gg.backend_tensor_set(leaf, data, 0, bytes);
    }
}

/* A device gets a sequence in pieces: no second one of its size lies on the host. */
void shim_exec::write_sequence(const shim::sequence &s) {
    const int64_t n = static_cast<int64_t>(gg.nbytes(s.leaf) / sizeof(int32_t));
    if (stream.device.cpu) {
        s.fill(s.leaf->data, 0, n);
        return;
    }
    constexpr int64_t piece = 1 << 18;
    std::vector<int32_t> values(std::min(n, piece));
    for (int64_t first = 0; first < n; first += piece) {
        const int64_t count = std::min(piece, n - first);
        s.fill(values.data(), first, count);
        gg.backend_tensor_set(s.leaf, values.data(), first * sizeof(int32_t), count * sizeof(int32_t));
    }
}

/* Tensors that are none, since they must be copied, are left empty. */
void shim_exec::find_in_place() {
    for (const shim::upload &u : parts->uploads) {
        in_place.push_back({u.narrow || u.leaf->view_src != nullptr ? nullptr : u.leaf, {}, nullptr});
    }
    for (const shim::download &d : parts->downloads) {
        // A leaf is an input or a weight, and what leaves twice has but one place.
        const bool once = std::count_if(parts->downloads.begin(), parts->downloads.end(),
                                        [&](const shim::download &o) { return o.source == d.source; }) == 1;
        const bool computed = d.source->op != GGML_OP_NONE && d.source->view_src == nullptr;
        in_place.push_back({once && computed ? d.source : nullptr, {}, nullptr});
    }
    parts->each_tensor([&](ggml_tensor *t) {
        for (at_host &h : in_place) {
            if (h.tensor != nullptr && t->view_src == h.tensor) h.views.push_back(t);
        }
    });
    lent.reserve(in_place.size());
}

bool shim_exec::lend(size_t which, void *data) {
    at_host &h = in_place[which];
    if (h.tensor == nullptr || !well_aligned(data)) return false;
    h.own = static_cast<char *>(h.tensor->data);
    lent.push_back(&h);
    h.place(static_cast<char *>(data));
    return true;
}

void shim_exec::lend_outputs(const shim_span *out) {
    for (size_t i = 0; i < parts->downloads.size(); i++) {
        void *data = out[parts->downloads[i].output].data;
        if (data != nullptr) lend(parts->uploads.size() + i, data);
    }
}

void shim_exec::take_back() {
    for (at_host *h : lent) h->place(h->own);
    lent.clear();
}

void shim_exec::upload(const shim_span *in, bool may_lend) {
    for (size_t i = 0; i < parts->uploads.size(); i++) {
        const shim::upload &u = parts->uploads[i];
        void *data = in[u.input].data;
        if (data == nullptr || (may_lend && lend(i, data))) continue;
        if (!u.narrow) {
            write(u.leaf, data, u.bytes);
            continue;
        }
        const bool direct = stream.device.cpu;
        int32_t *to = direct ? static_cast<int32_t *>(u.leaf->data) : reinterpret_cast<int32_t *>(staging.data());
        const size_t count = u.bytes / sizeof(int64_t);
        for (size_t i = 0; i < count; i++) {
            int64_t wide;
            std::memcpy(&wide, static_cast<const char *>(data) + i * sizeof wide, sizeof wide);
            to[i] = static_cast<int32_t>(wide);
        }
        if (!direct) write(u.leaf, to, count * sizeof(int32_t));
    }
    for (const shim::mask &m : parts->masks) {
        if (m.input < 0 || in[m.input].data == nullptr) continue;
        const void *positions = in[m.input].data;
        if (stream.device.cpu) {
            m.fill(m.leaf->data, positions);
        } else {
            m.fill(staging.data(), positions);
            write(m.leaf, staging.data(), gg.nbytes(m.leaf));
        }
    }
}

void shim_exec::download(const shim_span *out) {
    for (const shim::download &d : parts->downloads) {
        void *data = out[d.output].data;
        if (data == nullptr || data == d.source->data) continue;  // nothing to copy, or it was computed there
        if (stream.device.cpu) {
            std::memcpy(data, d.source->data, d.bytes);
        } else {
            gg.backend_tensor_get(d.source, data, 0, d.bytes);
        }
    }
}

ggml_status shim_exec::compute_on_cpu(int32_t threads, void *cancel) {
    const shim::computing scope;
    if (plan_threads != threads) {
        plan_threads = 0;
        plan = gg.graph_plan(graph, threads, nullptr);
        plan.abort_callback = asked_to_stop;
        plan_threads = threads;
    }
    if (threads == 1) stream.pools.park();
    plan.threadpool = plan.n_threads == 1 ? stream.pools.single() : stream.pools.many(threads);
    plan.work_data = stream.work_memory(plan.work_size);
    plan.abort_callback_data = cancel;
    try {
        return gg.graph_compute(graph, &plan);
    } catch (...) {
        if (plan.n_threads > 1) stream.pools.abandon();
        throw;
    }
}

void shim_exec::compute(int32_t threads, void *cancel) {
    const ggml_status code =
        stream.device.cpu ? compute_on_cpu(threads, cancel) : gg.backend_graph_compute(stream.queue, graph);
    // A GPU finishes what was submitted, and then hears of it.
    const bool stopped = code == GGML_STATUS_SUCCESS && !stream.device.cpu && asked_to_stop(cancel);
    if (code == GGML_STATUS_SUCCESS && !stopped) return;
    if (code == GGML_STATUS_ABORTED || stopped) shim::fail(shim::cancelled, "the run was cancelled");
    if (code == GGML_STATUS_ALLOC_FAILED) shim::fail(shim::out_of_memory, "the device has no memory left to compute");
    shim::fail(shim::device_lost, "the device failed to compute the graph");
}

int32_t shim_exec_new(shim_stream *stream, shim_builder *b, size_t free, shim_exec **out) {
    std::unique_ptr<shim_builder> parts(b);
    return shim::on_stream(*stream, [&] {
        auto made = std::make_unique<shim_exec>(*stream, std::move(parts));
        made->make(free);
        *out = made.release();
    });
}

bool shim_exec_free(shim_exec *e) {
    if (e->stream.abandoned()) return false;
    delete e;
    return true;
}
bool shim_exec_worth_sharing(const shim_exec *e, int32_t threads, double flops) {
    shim::graph_cost cost;
    const shim::status code = shim::guarded([&] { e->parts->each_tensor([&](const ggml_tensor *t) { cost.add(t); }); });
    return code == shim::ok && cost.worth_sharing(threads, flops);
}
size_t shim_exec_io_bytes(const shim_exec *e) { return e->io_bytes; }
const char *shim_exec_failure(const shim_exec *e) { return e->failure; }

int32_t shim_exec_run(shim_exec *e, uintptr_t in, uintptr_t out, uintptr_t timing, uintptr_t cancel, int32_t threads,
                      bool lent) {
    const shim::status code = shim::on_stream(e->stream, [&] {
        void *flag = reinterpret_cast<void *>(cancel);
        if (asked_to_stop(flag)) shim::fail(shim::cancelled, "the run was cancelled");
        if (e->generation != e->stream.scratch_generation) e->place_scratch();
        const shim_span *inputs = reinterpret_cast<const shim_span *>(in);
        const shim_span *outputs = reinterpret_cast<const shim_span *>(out);
        const bool may_lend = lent && e->stream.device.cpu;
        if (timing == 0) {
            e->upload(inputs, may_lend);
            if (may_lend) e->lend_outputs(outputs);
            e->compute(threads, flag);
            e->download(outputs);
            return;
        }
        const int64_t start = now_ns();
        e->upload(inputs, may_lend);
        if (may_lend) e->lend_outputs(outputs);
        const int64_t uploaded = now_ns();
        e->compute(threads, flag);
        const int64_t computed = now_ns();
        e->download(outputs);
        *reinterpret_cast<shim_timing *>(timing) = {uploaded - start, computed - uploaded, now_ns() - computed};
    });
    e->take_back();
    if (code != shim::ok) std::snprintf(e->failure, sizeof e->failure, "%s", shim_failure_text());
    return code;
}

double shim_exec_measure(shim_exec *e, int64_t n) {
    double each = -1;
    shim::on_stream(e->stream, [&] {
        int32_t go_on = 0;
        e->compute(1, &go_on);
        const int64_t start = now_ns();
        for (int64_t i = 0; i < n; i++) {
            if (e->stream.device.cpu) {
                ggml_cplan plan = gg.graph_plan(e->graph, 1, e->stream.pools.single());
                plan.work_data = e->stream.work_memory(plan.work_size);
                gg.graph_compute(e->graph, &plan);
            } else {
                gg.backend_graph_compute(e->stream.queue, e->graph);
            }
        }
        each = double(now_ns() - start) / double(n);
    });
    return each;
}
