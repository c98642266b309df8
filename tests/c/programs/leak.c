/*
 * Creates, runs, fails and frees over and over: nothing is left alive, and the
 * process does not grow.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <unistd.h>

#include "hooks.h"
#include "model.h"

/* The process's resident memory in bytes. */
static long resident(void) {
    long total, pages;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld %ld", &total, &pages) == 2);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void once(void) {
    const int64_t wrong[] = {3, 5}, other[] = {4, 7}, kept[] = {64, 64};
    model m;
    qtsa_tensor t, in[2];
    qtsa_plan second;
    model_open(&m);
    MODEL_RUNS(m.plan);
    /* Failures leave nothing behind either. */
    REFUSED(QTSA_ERR_INVALID_STATE, set_dense(m.weights, "weight", model_weight, sizeof model_weight), "in use");
    OK(qtsa_graph_input(m.graph, "wrong", QTSA_DTYPE_F32, wrong, 2, &in[0]));
    OK(qtsa_graph_input(m.graph, "other", QTSA_DTYPE_F32, other, 2, &in[1]));
    REFUSED(QTSA_ERR_SHAPE_MISMATCH, qtsa_graph_op(m.graph, "linear", in, 2, NULL, 0, &t, 1), "linear");
    OK(qtsa_graph_state(m.graph, "kept", QTSA_DTYPE_F32, kept, 2, &t));
    OK(qtsa_graph_output(m.graph, "kept", t));
    OK(qtsa_plan_create(m.session, m.graph, NULL, &second));
    OK(qtsa_plan_prepare(second, NULL, 0));
    OK(qtsa_plan_free(second));
    model_free(&m);
}

/* A thread that comes, fails, and goes leaves neither its words nor Go's part of it. */
static void *fail_once(void *unused) {
    size_t n;
    (void)unused;
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_count(NULL, &n, &n), "null");
    return NULL;
}

static void short_lived_thread(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_once, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
    enum { WARM = 300, ROUNDS = 1500 };
    long before, after;
    int i;
    for (i = 0; i < WARM; i++) {
        once();
        short_lived_thread();
    }
    CHECK(qtsa_test_objects() == 0);
    CHECK(qtsa_test_tensor_bytes() == 0);
    before = resident();
    for (i = 0; i < ROUNDS; i++) {
        once();
        short_lived_thread();
    }
    after = resident();
    CHECK(qtsa_test_objects() == 0);
    CHECK(qtsa_test_tensor_bytes() == 0);
    printf("resident memory: %ld KiB after %d rounds, %ld KiB after %d more\n", before / 1024, WARM, after / 1024,
           ROUNDS);
    /* Go's heap breathes; 2 KiB a round, of tens that a round uses, would be a leak. */
    CHECK(after - before < 2048L * ROUNDS);
    printf("ok\n");
    return 0;
}
