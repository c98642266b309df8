/* A run is stopped from another thread, at once, and the session goes on working. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <time.h>

#include "model.h"

enum { N = 256, LAYERS = 200 };

static model m;
static volatile int stopped;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(long milliseconds) {
    struct timespec t = {0, milliseconds * 1000000};
    nanosleep(&t, NULL);
}

static float x[N * N];

/* Runs over and over until one is cancelled. */
static void *run(void *plan) {
    qtsa_input in = {x, sizeof x};
    qtsa_output out = {NULL, 0};
    int runs = 0;
    for (;;) {
        qtsa_status status = qtsa_plan_run(*(qtsa_plan *)plan, &in, 1, &out, 1, NULL);
        if (status != QTSA_OK) {
            REFUSED(QTSA_ERR_CANCELLED, status, "deep", "cancelled");
            break;
        }
        CHECK(++runs < 100000);
    }
    stopped = 1;
    return NULL;
}

int main(void) {
    const int64_t shape[] = {N, N};
    pthread_t thread;
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor in[2];
    double start;
    int i;
    model_open(&m);
    OK(qtsa_session_cancel(m.session)); /* nothing is in progress: nothing happens */
    MODEL_RUNS(m.plan);

    OK(qtsa_graph_create("deep", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &in[0]));
    for (i = 0; i < LAYERS; i++) {
        in[1] = in[0];
        OK(qtsa_graph_op(g, "matmul", in, 2, NULL, 0, &in[0], 1));
    }
    OK(qtsa_graph_output(g, "y", in[0]));
    OK(qtsa_plan_create(m.session, g, NULL, &p));
    OK(qtsa_plan_prepare(p, NULL, 0));

    CHECK(pthread_create(&thread, NULL, run, &p) == 0);
    nap(20);
    start = seconds();
    while (!stopped) { /* a request between two runs asks nothing of the next */
        OK(qtsa_session_cancel(m.session));
        nap(1);
        CHECK(seconds() - start < 30);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    MODEL_RUNS(m.plan);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    model_free(&m);
    printf("ok\n");
    return 0;
}
