/*
 * A run of a plan with one node: it allocates nothing on Go's heap. Prints how
 * long a run takes, and a call that only enters Go and comes back.
 */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "hooks.h"
#include "model.h"

enum { RUNS = 200000 };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
    const int64_t shape[] = {4};
    float x[4] = {-1, 2, -3, 4}, y[4];
    qtsa_input in = {x, sizeof x};
    qtsa_output out = {y, sizeof y};
    qtsa_run_options o;
    qtsa_backend b;
    qtsa_graph g;
    qtsa_session s;
    qtsa_plan p;
    qtsa_tensor t, r;
    uint64_t before, after;
    double start, run = 1e18;
    int i, round;
    OK(qtsa_backend_create(NULL, &b));
    OK(qtsa_graph_create("one node", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 1, &t));
    OK(qtsa_graph_op(g, "relu", &t, 1, NULL, 0, &r, 1));
    OK(qtsa_graph_output(g, "y", r));
    OK(qtsa_session_create(b, &s));
    OK(qtsa_plan_create(s, g, NULL, &p));
    o = qtsa_run_options_init();
    o.threads = 1;
    for (i = 0; i < 1000; i++) OK(qtsa_plan_run(p, &in, 1, &out, 1, &o));

    before = qtsa_test_allocations();
    for (round = 0; round < 10; round++) {
        start = now_ns();
        for (i = 0; i < RUNS / 10; i++)
            if (qtsa_plan_run(p, &in, 1, &out, 1, &o) != QTSA_OK) CHECK(!"a run failed");
        start = (now_ns() - start) / (RUNS / 10);
        if (start < run) run = start;
    }
    after = qtsa_test_allocations();
    printf("%.0f ns a run, %llu allocations in %d runs\n", run, (unsigned long long)(after - before), (int)RUNS);
    CHECK(y[1] == 2 && y[2] == 0);
    /* Go's runtime makes a few of its own now and then. */
    CHECK(after - before < RUNS / 1000);

    start = now_ns();
    for (i = 0; i < RUNS; i++) {
        size_t n;
        if (qtsa_tensor_bytes(QTSA_DTYPE_F32, NULL, 0, &n) != QTSA_OK) CHECK(!"tensor_bytes failed");
    }
    printf("%.0f ns a call that only enters Go\n", (now_ns() - start) / RUNS);
    printf("ok\n");
    return 0;
}
