/*
 * open_time LIBRARY: how long a process takes from nothing to its first result:
 * loading libqtsaccel, making a CPU backend, one run of a one-node plan. Writes the
 * milliseconds. Meaningful once per process, so the driver starts it many times.
 */
#include <dlfcn.h>
#include <qtsaccel.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *library;

/* The library's function of that name, to be called through its declared type. */
static void *function(const char *name) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "open_time: %s\n", dlerror());
        exit(1);
    }
    return address;
}

#define CALL(name, ...) must(((__typeof__(name) *)function(#name))(__VA_ARGS__), #name)

static void must(qtsa_status status, const char *call) {
    if (status != QTSA_OK) {
        const char *words = ((__typeof__(qtsa_last_error) *)function("qtsa_last_error"))();
        fprintf(stderr, "open_time: %s: status %d: %s\n", call, (int)status, words);
        exit(1);
    }
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: open_time LIBRARY\n");
        return 2;
    }
    const double start = milliseconds();
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "open_time: %s\n", dlerror());
        return 1;
    }

    const int64_t shape[] = {4};
    const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
    float sum[4] = {0};
    qtsa_backend_options options;
    qtsa_backend backend;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor in[2], out;
    options = qtsa_backend_options_init();
    options.backend = "cpu";
    CALL(qtsa_backend_create, &options, &backend);
    CALL(qtsa_graph_create, "first run", &graph);
    CALL(qtsa_graph_input, graph, "a", QTSA_DTYPE_F32, shape, 1, &in[0]);
    CALL(qtsa_graph_input, graph, "b", QTSA_DTYPE_F32, shape, 1, &in[1]);
    CALL(qtsa_graph_op, graph, "add", in, 2, NULL, 0, &out, 1);
    CALL(qtsa_graph_output, graph, "sum", out);
    CALL(qtsa_session_create, backend, &session);
    CALL(qtsa_plan_create, session, graph, NULL, &plan);
    const qtsa_input inputs[] = {{a, sizeof a}, {b, sizeof b}};
    const qtsa_output outputs[] = {{sum, sizeof sum}};
    CALL(qtsa_plan_run, plan, inputs, 2, outputs, 1, NULL);
    const double took = milliseconds() - start;

    for (int i = 0; i < 4; i++) {
        if (sum[i] != a[i] + b[i]) {
            fprintf(stderr, "open_time: element %d is %g, want %g\n", i, (double)sum[i], (double)(a[i] + b[i]));
            return 1;
        }
    }
    printf("%.4f\n", took);
    return 0;
}
