/*
 * Loads a file, builds, runs, saves and frees, and has the n-th system call or allocation
 * of a kind fail in it: for n = 1, 2, 3, ... until a cycle ends without having met the
 * fault. After each the process lives, the status is one that the kind allows, nothing
 * leaks, and the next cycle, without a fault, gives right values.
 *
 * Run by "faults". A line is printed for each n before it is tried: what ends the
 * process is known from the last.
 *
 * usage: cycle LIBRARY FOLDER KIND FROM TO STEP warm|cold BACKEND
 *   cold: the library is loaded within the cycle, which is the process's first; one n only
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "faults.h"
#include "qtsaccel.h"

void heap_arm(long n) __attribute__((weak));
int heap_disarm(void) __attribute__((weak));

/* The functions that a cycle calls. */
/* clang-format off */
#define FUNCTIONS(F) \
    F(backend_create) F(backend_free) F(weights_create) F(weights_add) F(weights_save) F(weights_open) \
    F(weights_free) F(graph_create) F(graph_input) F(graph_weight) F(graph_op) F(graph_output) F(graph_free) \
    F(session_create) F(session_free) F(plan_create) F(plan_run) F(plan_free) F(matrix_create) F(matmul) \
    F(matrix_free) F(last_error) F(status_name)
/* clang-format on */

static struct {
#define F(name) __typeof__(qtsa_##name) *name;
    FUNCTIONS(F)
#undef F
    int64_t (*objects)(void);
    int64_t (*tensor_bytes)(void);
} q;

static const char *folder, *backend;
static int kind;

static void fail(const char *what) {
    printf("WRONG: %s\n", what);
    fflush(stdout);
    exit(1);
}

static int load(const char *library) {
    void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (l == NULL) return 0;
#define F(name) *(void **)&q.name = dlsym(l, "qtsa_" #name);
    FUNCTIONS(F)
#undef F
    *(void **)&q.objects = dlsym(l, "qtsa_test_objects");
    *(void **)&q.tensor_bytes = dlsym(l, "qtsa_test_tensor_bytes");
    return q.objects != NULL && q.tensor_bytes != NULL && q.status_name != NULL;
}

static void arm(long n) {
    if (kind == FAULTS_HEAP)
        heap_arm(n);
    else
        faults(FAULTS_ARM, kind, n);
}

static int disarm(void) { return kind == FAULTS_HEAP ? heap_disarm() : (int)faults(FAULTS_DISARM, 0, 0); }

/* What a cycle has come to: its first failure. */
static qtsa_status first;
static char words[600], where[64];

static int ok(qtsa_status s, const char *call) {
    if (s == QTSA_OK) return 1;
    if (first == QTSA_OK) {
        first = s;
        snprintf(words, sizeof words, "%s", q.last_error());
        snprintf(where, sizeof where, "%s", call);
        if (words[0] == 0) fail("a failure without words");
    }
    return 0;
}
#define DO(name, ...) ok(q.name(__VA_ARGS__), #name)

enum { N_OUT = 48, N_IN = 64, LAYERS = 3 };

static float weight(int l, int o, int i) { return (float)((l + 3 * o + 5 * i) % 7 - 3) / 4; }

/* y = x w^T of a tensor of the file, below 0 cut off or not. */
static void right(const float *y, const float *x, int l, int relu) {
    for (int o = 0; o < N_OUT; o++) {
        double want = 0;
        for (int i = 0; i < N_IN; i++) want += (double)x[i] * weight(l, o, i);
        if (relu && want < 0) want = 0;
        if (!(y[o] - want < 1e-2 && want - y[o] < 1e-2)) fail("a wrong value");
    }
}

static void file_name(char *to, size_t room, const char *name) { snprintf(to, room, "%s/%s", folder, name); }

/* The file that cycles open. */
static void make_file(void) {
    static float data[N_OUT * N_IN];
    const int64_t shape[] = {N_OUT, N_IN};
    char path[4096];
    qtsa_weights w = NULL;
    file_name(path, sizeof path, "model.gguf");
    first = QTSA_OK;
    DO(weights_create, &w);
    for (int l = 0; l < LAYERS; l++) {
        const char name[] = {(char)('a' + l), 0};
        for (int o = 0; o < N_OUT; o++)
            for (int i = 0; i < N_IN; i++) data[o * N_IN + i] = weight(l, o, i);
        const qtsa_array array = qtsa_array_dense(QTSA_DTYPE_F32, shape, 2, data, sizeof data);
        DO(weights_add, w, name, &array);
    }
    DO(weights_save, w, path, NULL, 0, NULL, NULL);
    DO(weights_free, w);
    if (first != QTSA_OK) fail(words);
}

static int build(qtsa_graph g, qtsa_weights w) {
    const int64_t shape[] = {1, N_IN};
    qtsa_tensor x, y, in[2];
    if (!DO(graph_input, g, "x", QTSA_DTYPE_F32, shape, 2, &x)) return 0;
    in[0] = x;
    return DO(graph_weight, g, w, "a", &in[1]) && DO(graph_op, g, "linear", in, 2, NULL, 0, &y, 1) &&
           DO(graph_op, g, "relu", &y, 1, NULL, 0, &y, 1) && DO(graph_output, g, "y", y);
}

static void one_placement(qtsa_backend b, int32_t placement) {
    static float x[N_IN], y[N_OUT], z[N_OUT];
    char path[4096], saved[4096];
    qtsa_weights_options wo = qtsa_weights_options_init();
    qtsa_weights w = NULL;
    qtsa_graph g = NULL;
    qtsa_session s = NULL;
    qtsa_plan p = NULL;
    qtsa_matrix m = NULL;
    qtsa_matrix_desc d = qtsa_matrix_desc_init();
    file_name(path, sizeof path, "model.gguf");
    file_name(saved, sizeof saved, "saved.gguf");
    for (int i = 0; i < N_IN; i++) x[i] = (float)(i % 5) - 2;
    memset(y, 0, sizeof y);
    memset(z, 0, sizeof z);
    wo.placement = placement;
    if (DO(weights_open, path, &wo, &w) && DO(graph_create, "cycle", &g) && build(g, w) && DO(session_create, b, &s) &&
        DO(plan_create, s, g, NULL, &p)) {
        const qtsa_input in = {x, sizeof x};
        const qtsa_output out = {y, sizeof y};
        for (int i = 0; i < 2; i++)
            if (DO(plan_run, p, &in, 1, &out, 1, NULL)) right(y, x, 0, 1);
    }
    if (w != NULL) {
        d.weights = w;
        d.name = "b";
        if (DO(matrix_create, b, &d, &m)) {
            const qtsa_product product = {sizeof product, m, NULL, z, N_OUT, QTSA_ACTIVATION_NONE, 0};
            if (DO(matmul, b, x, 1, N_IN, &product, 1, 0)) right(z, x, 1, 0);
        }
        DO(weights_save, w, saved, NULL, 0, NULL, NULL);
    }
    /* Whatever has failed, what is there goes back. */
    if (q.matrix_free(m) != QTSA_OK || q.plan_free(p) != QTSA_OK || q.session_free(s) != QTSA_OK ||
        q.graph_free(g) != QTSA_OK || q.weights_free(w) != QTSA_OK)
        fail("a handle could not be freed");
}

static void cycle(void) {
    qtsa_backend_options o = qtsa_backend_options_init();
    qtsa_backend b = NULL;
    first = QTSA_OK;
    words[0] = where[0] = 0;
    o.backend = backend;
    o.threads = 2;
    o.probe = "off";
    if (DO(backend_create, &o, &b)) {
        one_placement(b, QTSA_PLACEMENT_COPIED);
        one_placement(b, QTSA_PLACEMENT_MAPPED);
    }
    if (q.backend_free(b) != QTSA_OK) fail("the backend could not be freed");
}

/* Statuses that say what each kind of fault comes to; OK: it was made up for. */
static int allowed(qtsa_status s) {
    if (s == QTSA_OK) return 1;
    /* A plugin that cannot be loaded or a device that cannot be opened, whatever the cause. */
    if (s == QTSA_ERR_DEVICE_UNAVAILABLE) return strcmp(where, "backend_create") == 0;
    switch (kind) {
        case FAULTS_MEMORY:
        case FAULTS_HEAP:
        case FAULTS_PROTECT:
            return s == QTSA_ERR_OUT_OF_MEMORY;
        case FAULTS_THREADS:
            return s == QTSA_ERR_OUT_OF_MEMORY;
        case FAULTS_READ_NOTHING:
            return s == QTSA_ERR_CORRUPT || s == QTSA_ERR_IO;
        case FAULTS_READ_SHORT:
        case FAULTS_WRITE_SHORT:
        case FAULTS_OPEN_STOPPED:
        case FAULTS_READ_STOPPED:
            return s == QTSA_ERR_IO;
        default:
            return s == QTSA_ERR_IO;
    }
}

static size_t files_in(const char *path) {
    size_t n = 0;
    DIR *d = opendir(path);
    if (d == NULL) fail("a folder cannot be read");
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

/* Nothing is left of a cycle that failed. */
static void nothing_left(size_t open, size_t files) {
    if (q.objects() != 0) fail("objects are left");
    if (q.tensor_bytes() != 0) fail("tensors' memory is left");
    if (files_in("/proc/self/fd") > open) fail("descriptors are left open");
    if (files_in(folder) > files) fail("a file is left in the folder");
}

/* The file whose code is at an address. */
static const char *file_of(void *at) {
    Dl_info in;
    return at != NULL && dladdr(at, &in) != 0 ? in.dli_fname : "nothing known";
}

/* Says whose code a fault was in, or called libc for it, and ends as without a handler. */
static void on_fault(int number, siginfo_t *info, void *context) {
    void *at = NULL, *caller = NULL, *frames[16];
    const char *file;
    (void)info;
#if defined(__x86_64__)
    at = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    /* What memset and memcpy return to. */
    caller = *(void **)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    at = (void *)((ucontext_t *)context)->uc_mcontext.pc;
    caller = (void *)((ucontext_t *)context)->uc_mcontext.regs[30];
#endif
    disarm();
    file = file_of(at);
    if (strstr(file, "/libc.so") != NULL) file = file_of(caller);
    printf("signal %d in %s\n", number, file);
    fflush(stdout);
    backtrace_symbols_fd(frames, backtrace(frames, 16), 1);
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_faults(void) {
    static char stack[1 << 16];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action;
    void *frame;
    backtrace(&frame, 1); /* which loads what it needs */
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (sigaltstack(&alternative, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
        sigaction(SIGBUS, &action, NULL) != 0 || sigaction(SIGABRT, &action, NULL) != 0)
        fail("no handlers");
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fprintf(stderr, "usage: cycle LIBRARY FOLDER KIND FROM TO STEP warm|cold BACKEND\n");
        return 125;
    }
    const int cold = strcmp(argv[7], "cold") == 0;
    const long from = atol(argv[4]), to = atol(argv[5]), step = atol(argv[6]);
    folder = argv[2];
    kind = atoi(argv[3]);
    backend = argv[8];
    watch_faults();
    if (!cold) {
        if (!load(argv[1])) fail(dlerror());
        make_file();
        for (int i = 0; i < 2; i++) {
            cycle();
            if (first != QTSA_OK) fail(words);
        }
    }
    size_t open = files_in("/proc/self/fd"), files = files_in(folder);
    for (long n = from; n <= to; n += step) {
        printf("n %ld ", n);
        fflush(stdout);
        arm(n);
        if (cold && !load(argv[1])) {
            disarm();
            printf("dlopen: %.300s\n", dlerror());
            return 0;
        }
        cycle();
        const int faulted = disarm();
        const qtsa_status s = first;
        printf("%s %s %s: %.500s\n", faulted ? "fault" : "none", q.status_name(s), where, words);
        fflush(stdout);
        if (!faulted && s != QTSA_OK) fail("a cycle without a fault failed");
        if (!allowed(s)) fail("not the status for this fault");
        if (!cold) nothing_left(open, files);
        cycle();
        if (first != QTSA_OK) {
            printf("%s: %s\n", where, words);
            fail("the cycle after the fault failed");
        }
        nothing_left(cold ? open + 64 : open, cold ? files + 1 : files);
        if (!faulted) {
            printf("done\n");
            return 0;
        }
    }
    return 0;
}
