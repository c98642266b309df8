/*
 * Stands in for a GPU's plugin of ggml. It computes with the CPU plugin beside it
 * and lists as many devices as the stand-in for CUDA's driver shows. FAKE_PLUGIN says
 * what goes wrong: "", or one of the words below, where those of computing may name
 * the only device that it is about, as in "wrong@1".
 *
 *   at loading:   load-abort, load-segv, load-hang, load-null, load-chatty,
 *                 load-version (the plugin interface of another ggml)
 *   at computing: abort, segv, hang, assert, wrong, nan; failed and no-memory, which
 *                 are statuses of ggml; throw and lost, exceptions as drivers' wrappers
 *                 have them; wait, until the file that FAKE_WAIT names is there
 *   at opening:   init-null
 *
 * The structs are those of ggml-backend-impl.h in 0.25, as far as they matter here.
 */
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "ggml.h"

using function = void (*)();

struct reg {
    int api_version;
    const char *(*get_name)(reg *);
    size_t (*get_device_count)(reg *);
    struct device *(*get_device)(reg *, size_t);
    void *(*get_proc_address)(reg *, const char *);
    void *context;
};

struct device {
    const char *(*get_name)(device *);
    const char *(*get_description)(device *);
    function get_memory, get_type, get_props;
    struct backend *(*init_backend)(device *, const char *);
    function others[9];
    struct reg *reg;
    void *context;
};

struct backend {
    void *guid;
    function before[12];
    int (*graph_compute)(backend *, ggml_cgraph *);
    function after[3];
    struct device *device;
    void *context;
};

static const int limit = 8;
static reg *cpu;
static reg fake;
static device devices[limit];
static char names[limit][32], descriptions[limit][32];
static int (*cpu_compute)(backend *, ggml_cgraph *);

static std::string setting() {
    const char *s = getenv("FAKE_PLUGIN");
    return s != nullptr ? s : "";
}

static void go_wrong(const std::string &how) {
    if (how == "abort") abort();
    if (how == "segv") {
        volatile int *nowhere = nullptr;
        *nowhere = 1;
    }
    // As a driver does that waits for the card: nothing interrupts it.
    while (how == "hang") {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        sleep(1);
    }
}

static int compute(backend *b, ggml_cgraph *graph) {
    std::string how = setting();
    const size_t at = how.find('@');
    if (at != std::string::npos) {
        if (b->device != &devices[atoi(how.c_str() + at + 1)]) how.clear();
        how = how.substr(0, at);
    }
    go_wrong(how);
    if (how == "assert") GGML_ABORT("CUDA error: the provided PTX was compiled with an unsupported toolchain");
    if (how == "failed") return GGML_STATUS_FAILED;
    if (how == "no-memory") return GGML_STATUS_ALLOC_FAILED;
    if (how == "throw") throw std::runtime_error("something is wrong with the kernels");
    if (how == "lost") throw std::runtime_error("vk::Queue::submit: ErrorDeviceLost");
    while (how == "wait" && access(getenv("FAKE_WAIT"), F_OK) != 0) usleep(1000);
    const int result = cpu_compute(b, graph);
    ggml_tensor *last = ggml_graph_node(graph, -1);
    float *values = static_cast<float *>(last->data);
    if (how == "wrong") values[ggml_nelements(last) / 2] += 1;
    if (how == "nan") values[0] = std::numeric_limits<float>::quiet_NaN();
    return result;
}

static backend *init_backend(device *d, const char *params) {
    if (setting() == "init-null") return nullptr;
    device *of_cpu = cpu->get_device(cpu, 0);
    backend *b = of_cpu->init_backend(of_cpu, params);
    if (b == nullptr) return nullptr;
    cpu_compute = b->graph_compute;
    b->graph_compute = compute;
    b->device = d;
    return b;
}

extern "C" reg *qtsg_backend_init() {
    const std::string how = setting();
    if (how == "load-null") return nullptr;
    if (how == "load-chatty") {
        for (int i = 0; i < 200000; i++) fprintf(stderr, "line %d of much too many, {\"done\":true}\n", i);
        printf("without a line end");
        fflush(stdout);
    }
    if (how.rfind("load-", 0) == 0 && how != "load-version") {
        fprintf(stderr, "the plugin says: about to %s\n", how.c_str() + 5);
        go_wrong(how.substr(5));
    }
    Dl_info self;
    if (dladdr(reinterpret_cast<void *>(&qtsg_backend_init), &self) == 0) return nullptr;
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + CPU_PLUGIN;
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        return nullptr;
    }
    cpu = reinterpret_cast<reg *(*)()>(dlsym(handle, "qtsg_backend_init"))();
    fake = *cpu;
    if (how == "load-version") fake.api_version++;
    fake.get_name = [](reg *) { return "CUDA"; };
    fake.get_device_count = [](reg *) -> size_t {
        const char *n = getenv("FAKE_CUDA");
        return n != nullptr ? static_cast<size_t>(atoi(n)) : 1;
    };
    fake.get_device = [](reg *, size_t i) { return &devices[i]; };
    for (int i = 0; i < limit; i++) {
        devices[i] = *cpu->get_device(cpu, 0);
        devices[i].reg = &fake;
        snprintf(names[i], sizeof names[i], "CUDA%d", i);
        snprintf(descriptions[i], sizeof descriptions[i], "Pretender %d", i);
        devices[i].get_name = [](device *d) -> const char * { return names[d - devices]; };
        devices[i].get_description = [](device *d) -> const char * { return descriptions[d - devices]; };
        devices[i].init_backend = init_backend;
    }
    return &fake;
}
