/*
 * Two copies of ggml in one process: the host's own, opened with global symbols,
 * and the library's. Both must give right products, whichever came first.
 *
 *     copies LIBRARY BACKEND MOMENT [FOREIGN_BASE FOREIGN_CPU [FOREIGN_MORE...]]
 *
 * MOMENT says when the foreign copy is opened: "before" the library, "between" its
 * loading and its first backend, "after" its first product, or "never".
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qtsaccel.h"

enum { ROWS = 3, IN = 64, OUT = 5 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why ? why : "?");
    exit(1);
}

static void *open_or_die(const char *path, int flags) {
    void *handle = dlopen(path, flags);
    if (!handle) die(path, dlerror());
    return handle;
}

static void *symbol(void *handle, const char *name) {
    void *address = dlsym(handle, name);
    if (!address) die(name, dlerror());
    return address;
}

/* Small whole numbers, so that every summation order gives the same f32. */
static float x_at(int row, int i) { return (float)((row * 7 + i * 3) % 11 - 5); }
static float w_at(int out, int i) { return (float)((out * 5 + i * 2) % 7 - 3); }

static void check(const char *who, const float *y) {
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            float want = 0;
            for (int i = 0; i < IN; i++) want += x_at(r, i) * w_at(o, i);
            if (y[r * OUT + o] != want) {
                fprintf(stderr, "%s: y[%d][%d] is %g, want %g\n", who, r, o, (double)y[r * OUT + o], (double)want);
                exit(1);
            }
        }
}

/* ---- the host's own copy ---- */

struct foreign_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};

static void foreign_product(void *base, void *cpu) {
    void *(*init)(struct foreign_params) = (void *(*)(struct foreign_params))symbol(base, "ggml_init");
    void *(*new_2d)(void *, int, int64_t, int64_t) =
        (void *(*)(void *, int, int64_t, int64_t))symbol(base, "ggml_new_tensor_2d");
    float *(*data)(const void *) = (float *(*)(const void *))symbol(base, "ggml_get_data_f32");
    void *(*mul_mat)(void *, void *, void *) = (void *(*)(void *, void *, void *))symbol(base, "ggml_mul_mat");
    void *(*new_graph)(void *) = (void *(*)(void *))symbol(base, "ggml_new_graph");
    void (*expand)(void *, void *) = (void (*)(void *, void *))symbol(base, "ggml_build_forward_expand");
    int (*compute)(void *, void *, int) = (int (*)(void *, void *, int))symbol(cpu, "ggml_graph_compute_with_ctx");
    void (*release)(void *) = (void (*)(void *))symbol(base, "ggml_free");

    struct foreign_params params = {16u << 20, NULL, false};
    void *ctx = init(params);
    void *w = new_2d(ctx, 0, IN, OUT), *x = new_2d(ctx, 0, IN, ROWS);
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++) data(w)[o * IN + i] = w_at(o, i);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < IN; i++) data(x)[r * IN + i] = x_at(r, i);
    void *y = mul_mat(ctx, w, x), *graph = new_graph(ctx);
    expand(graph, y);
    if (compute(ctx, graph, 1) != 0) die("foreign product", "failed");
    check("foreign", data(y));
    release(ctx);
}

static void *foreign_base, *foreign_cpu;

static void open_foreign(int argc, char **argv) {
    foreign_base = open_or_die(argv[4], RTLD_NOW | RTLD_GLOBAL);
    foreign_cpu = open_or_die(argv[5], RTLD_NOW | RTLD_GLOBAL);
    for (int i = 6; i < argc; i++) open_or_die(argv[i], RTLD_NOW | RTLD_GLOBAL);
    foreign_product(foreign_base, foreign_cpu);
}

/* ---- the library's ---- */

static void *library;
#define CALL(name, ...)                                                                        \
    do {                                                                                       \
        __typeof__(name) *call = (__typeof__(name) *)symbol(library, #name);                   \
        if (call(__VA_ARGS__) != QTSA_OK)                                                      \
            die(#name, ((__typeof__(qtsa_last_error) *)symbol(library, "qtsa_last_error"))()); \
    } while (0)

static qtsa_backend open_backend(const char *name) {
    qtsa_backend backend = NULL;
    qtsa_backend_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.backend = name;
    CALL(qtsa_backend_create, &options, &backend);
    return backend;
}

static void our_product(const char *who, qtsa_backend backend) {
    float w_data[OUT * IN], x_data[ROWS * IN], y_data[ROWS * OUT];
    const int64_t w_shape[] = {OUT, IN}, x_shape[] = {ROWS, IN};
    qtsa_weights weights = NULL;
    qtsa_graph graph = NULL;
    qtsa_session session = NULL;
    qtsa_plan plan = NULL;
    qtsa_tensor in[2], y;

    for (int i = 0; i < OUT * IN; i++) w_data[i] = w_at(i / IN, i % IN);
    for (int i = 0; i < ROWS * IN; i++) x_data[i] = x_at(i / IN, i % IN);
    CALL(qtsa_weights_create, &weights);
    const qtsa_array w = qtsa_array_dense(QTSA_DTYPE_F32, w_shape, 2, w_data, sizeof w_data);
    CALL(qtsa_weights_add, weights, "w", &w);
    CALL(qtsa_graph_create, "product", &graph);
    CALL(qtsa_graph_input, graph, "x", QTSA_DTYPE_F32, x_shape, 2, &in[0]);
    CALL(qtsa_graph_weight, graph, weights, "w", &in[1]);
    CALL(qtsa_graph_op, graph, "linear", in, 2, NULL, 0, &y, 1);
    CALL(qtsa_graph_output, graph, "y", y);
    CALL(qtsa_session_create, backend, &session);
    CALL(qtsa_plan_create, session, graph, NULL, &plan);
    const qtsa_input inputs[] = {{x_data, sizeof x_data}};
    const qtsa_output outputs[] = {{y_data, sizeof y_data}};
    CALL(qtsa_plan_run, plan, inputs, 1, outputs, 1, NULL);
    check(who, y_data);
    CALL(qtsa_plan_free, plan);
    CALL(qtsa_session_free, session);
    CALL(qtsa_graph_free, graph);
    CALL(qtsa_weights_free, weights);
}

int main(int argc, char **argv) {
    if (argc < 4 || (strcmp(argv[3], "never") != 0 && argc < 6)) die(argv[0], "see the comment at its head");
    const char *name = argv[2], *moment = argv[3];

    if (!strcmp(moment, "before")) open_foreign(argc, argv);
    library = open_or_die(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!strcmp(moment, "between")) open_foreign(argc, argv);
    qtsa_backend backend = open_backend(name);
    our_product("ours", backend);
    if (!strcmp(moment, "after")) {
        open_foreign(argc, argv);
        our_product("ours, after", backend);
    }
    /* A second backend looks its symbols up when the foreign copy is there. */
    qtsa_backend second = open_backend(name);
    our_product("ours, second backend", second);
    if (foreign_base) foreign_product(foreign_base, foreign_cpu);
    CALL(qtsa_backend_free, backend);
    CALL(qtsa_backend_free, second);
    printf("right products: %s, foreign %s\n", name, moment);
    return 0;
}
