#include "raw_ggml.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

#include "contest.hpp"

namespace bench {

namespace {

// The plugin with the highest score for this machine, as ggml's own loader picks.
void *open_best_plugin(const std::string &folder) {
    void *best = nullptr;
    int best_score = 0;
    for (const auto &file : std::filesystem::directory_iterator(folder)) {
        if (file.path().filename().string().rfind("libqtsg-cpu", 0) != 0) {
            continue;
        }
        void *plugin = dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            continue;
        }
        const auto score = reinterpret_cast<int (*)()>(dlsym(plugin, "qtsg_backend_score"));
        const int points = score != nullptr ? score() : 0;
        if (points > best_score) {
            std::swap(plugin, best);
            best_score = points;
        }
        if (plugin != nullptr) {
            dlclose(plugin);
        }
    }
    if (best == nullptr) {
        throw std::runtime_error("no CPU plugin in " + folder + " suits this machine");
    }
    return best;
}

template <typename Function>
Function entry(ggml_backend_reg_t registry, const char *name) {
    void *address = ggml_backend_reg_get_proc_address(registry, name);
    if (address == nullptr) {
        throw std::runtime_error(std::string("the CPU plugin has no ") + name);
    }
    return reinterpret_cast<Function>(address);
}

ggml_backend_t make_cpu() {
    void *plugin = open_best_plugin(place("BENCH_LIB") + "/qtsaccel");
    const auto init = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(plugin, "qtsg_backend_init"));
    if (init == nullptr) {
        throw std::runtime_error(dlerror());
    }
    const ggml_backend_reg_t registry = init();
    const ggml_backend_t backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(registry, 0), nullptr);

    const auto new_pool = entry<decltype(&ggml_threadpool_new)>(registry, "ggml_threadpool_new");
    const auto set_pool =
        entry<decltype(&ggml_backend_cpu_set_threadpool)>(registry, "ggml_backend_cpu_set_threadpool");
    const auto set_threads = entry<ggml_backend_set_n_threads_t>(registry, "ggml_backend_set_n_threads");
    ggml_threadpool_params params = ggml_threadpool_params_default(threads());
    set_threads(backend, threads());
    set_pool(backend, new_pool(&params));
    return backend;
}

}  // namespace

ggml_backend_t raw_cpu() {
    static const ggml_backend_t backend = make_cpu();
    return backend;
}

ggml_backend_buffer_t allocate_tensors(ggml_context *ctx) {
    constexpr size_t line = 64;
    const auto lines = [](size_t bytes) { return (bytes + line - 1) / line * line; };
    const auto each = [ctx](const auto &visit) {
        for (ggml_tensor *t = ggml_get_first_tensor(ctx); t != nullptr; t = ggml_get_next_tensor(ctx, t)) {
            visit(t);
        }
    };
    size_t bytes = line;
    each([&](const ggml_tensor *t) { bytes += t->view_src == nullptr ? lines(ggml_nbytes(t)) : 0; });
    const ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(raw_cpu(), bytes);
    if (buffer == nullptr) {
        throw std::runtime_error("ggml could not allocate " + std::to_string(bytes) + " bytes");
    }
    ggml_backend_buffer_clear(buffer, 0);
    auto *next = reinterpret_cast<char *>(lines(reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer))));
    each([&](ggml_tensor *t) {
        if (t->view_src != nullptr) {
            ggml_backend_view_init(t);
        } else {
            ggml_backend_tensor_alloc(buffer, t, next);
            next += lines(ggml_nbytes(t));
        }
    });
    return buffer;
}

RawGraph::RawGraph() {
    constexpr size_t tensors = 512;
    ctx_ = ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false), nullptr, true});
    graph_ = ggml_new_graph_custom(ctx_, tensors, false);
}

RawGraph::~RawGraph() {
    ggml_backend_buffer_free(buffer_);
    ggml_free(ctx_);
}

void RawGraph::allocate() { buffer_ = allocate_tensors(ctx_); }

void RawGraph::compute() {
    if (ggml_backend_graph_compute(raw_cpu(), graph_) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error("ggml failed to compute the graph");
    }
}

ggml_tensor *write_into(ggml_tensor *node, ggml_tensor *target, size_t offset) {
    node->view_src = target;
    node->view_offs = offset;
    return node;
}

}  // namespace bench
