/*
 * The second operator-level call of a shape builds nothing and allocates nothing on
 * Go's heap. Prints how long calls take that compute next to nothing.
 */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "check.h"
#include "hooks.h"

enum { RUNS = 20000 };

static qtsa_backend backend;
static qtsa_matrix weight, quantised, kernel;
static float x[4 * 64], y[4 * 64], z[4 * 64];

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static qtsa_product job_of(qtsa_matrix m, float *to, int64_t n_out) {
    qtsa_product j;
    SIZED(j);
    j.weight = m;
    j.y = to;
    j.n_out = n_out;
    return j;
}

static qtsa_status product(void) {
    qtsa_product j = job_of(weight, y, 8);
    return qtsa_matmul(backend, x, 1, 32, &j, 1, 0);
}

static qtsa_status products(void) {
    qtsa_product j[2];
    j[0] = job_of(weight, y, 8);
    j[0].bias = x + 100;
    j[0].activation = QTSA_ACTIVATION_SILU;
    j[1] = job_of(quantised, z, 8);
    return qtsa_matmul(backend, x, 4, 32, j, 2, QTSA_ONLY_IF_WORTHWHILE);
}

static qtsa_status convolution(void) {
    qtsa_conv2d_geometry g = {sizeof g, 4, 4, 4, 2, 2, 3, 3};
    qtsa_conv2d_norm n = {sizeof n, QTSA_NORM_GROUP, 1, 2, 1e-5, NULL, NULL};
    qtsa_product j = job_of(kernel, y, 8);
    n.gamma = x + 100;
    return qtsa_conv2d(backend, x, &g, &n, &j, 0);
}

static qtsa_status attention(void) { return attention_of(backend, x, x + 64, x + 128, 2, 4, 2, 2, 8, 1, 0, 0, y, 0); }

static qtsa_status operation(void) {
    qtsa_operand in, out;
    qtsa_attr a[2];
    a[0] = qtsa_attr_float("scale", 2);
    a[1] = qtsa_attr_float("bias", 1);
    SIZED(in);
    in.dtype = QTSA_DTYPE_F32;
    in.rank = 2;
    in.shape[0] = 2;
    in.shape[1] = 8;
    in.data = x;
    out = in;
    out.data = y;
    return qtsa_op_run(backend, "scale", &in, 1, a, 2, &out, 1, 0);
}

static void allocates_nothing(const char *what, qtsa_status (*call)(void)) {
    uint64_t before, after;
    double best = 1e18, start;
    int i, round;
    for (i = 0; i < 100; i++) OK(call());
    before = qtsa_test_allocations();
    for (round = 0; round < 10; round++) {
        start = now_ns();
        for (i = 0; i < RUNS / 10; i++)
            if (call() != QTSA_OK) CHECK(!"a call failed");
        start = (now_ns() - start) / (RUNS / 10);
        if (start < best) best = start;
    }
    after = qtsa_test_allocations();
    printf("%-12s %6.0f ns a call, %lu allocations in %d calls\n", what, best, (unsigned long)(after - before),
           (int)RUNS);
    /* Go's runtime makes a few of its own now and then. */
    CHECK(after - before < RUNS / 200);
}

int main(void) {
    static unsigned char blocks[8 * 34];
    qtsa_matrix_desc d;
    qtsa_backend_options o;
    char text[8192];
    size_t n;
    o = qtsa_backend_options_init();
    o.threads = 1;
    OK(qtsa_backend_create(&o, &backend));
    d = qtsa_matrix_desc_init();
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = 8;
    d.shape[1] = 32;
    d.data = malloc(1024);
    d.bytes = 1024;
    memset((void *)d.data, 0, 1024);
    OK(qtsa_matrix_create(backend, &d, &weight));
    d.shape[1] = 16;
    d.bytes = 512;
    OK(qtsa_matrix_create(backend, &d, &kernel));
    free((void *)d.data);
    d.dtype = QTSA_DTYPE_Q8_0;
    d.shape[1] = 32;
    d.data = blocks;
    d.bytes = sizeof blocks;
    OK(qtsa_matrix_create(backend, &d, &quantised));

    allocates_nothing("matmul", product);
    allocates_nothing("two products", products);
    allocates_nothing("conv2d", convolution);
    allocates_nothing("attention", attention);
    allocates_nothing("op_run", operation);

    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, 0, text, sizeof text, &n));
    CHECK(strstr(text, "\"builds\": 5") != NULL); /* one for each of the above */
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, QTSA_STATS_RESET, NULL, 0,
                               &n)); /* of the size alone nothing begins */
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, QTSA_STATS_RESET, text, sizeof text, &n));
    CHECK(strstr(text, "\"builds\": 5") != NULL);
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, 0, text, sizeof text, &n));
    CHECK(strstr(text, "\"builds\": 0") != NULL && strstr(text, "\"operators\": []") != NULL);
    OK(qtsa_matrix_free(weight));
    OK(qtsa_matrix_free(quantised));
    OK(qtsa_matrix_free(kernel));
    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
