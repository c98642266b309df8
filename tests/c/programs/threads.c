/*
 * Many threads, sessions of one backend over shared weights, plans that several
 * threads run, and handles freed while others use them.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "model.h"

enum { THREADS = 8, ROUNDS = 60, RUNS = 20 };

static qtsa_backend backend, wide; /* of one thread a run, and of as many as there are */
static qtsa_weights weights;
static qtsa_graph graph;

static void start(pthread_t threads[THREADS], void *(*body)(void *), void *argument) {
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, body, argument) == 0);
}

static void join(pthread_t threads[THREADS]) {
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void run_right(qtsa_plan plan, int i) {
    float y[2][3];
    OK(model_run(plan, (float)i, y));
    CHECK(model_right((const float(*)[3])y, (float)i));
}

/* Each thread has a session of its own on the one backend. */
static void *own_session(void *on) {
    int round, i;
    for (round = 0; round < (on == &wide ? 1 : ROUNDS / 10); round++) {
        qtsa_session s;
        qtsa_plan p;
        OK(qtsa_session_create(*(qtsa_backend *)on, &s));
        OK(qtsa_plan_create(s, graph, NULL, &p));
        for (i = 0; i < RUNS; i++) run_right(p, i - 5);
        OK(qtsa_plan_free(p));
        OK(qtsa_session_free(s));
    }
    return NULL;
}

/* All threads run the same plan; its runs take turns. */
static void *same_plan(void *plan) {
    int i;
    for (i = 0; i < RUNS * 5; i++) run_right(*(qtsa_plan *)plan, i - 5);
    return NULL;
}

/* The threads run one plan until it is freed beneath them. */
static void *until_freed(void *plan) {
    for (;;) {
        float y[2][3];
        qtsa_status status = model_run(*(qtsa_plan *)plan, 2, y);
        if (status != QTSA_OK) {
            REFUSED(QTSA_ERR_INVALID_HANDLE, status, "freed", "qtsa_plan");
            return NULL;
        }
        CHECK(model_right((const float(*)[3])y, 2));
    }
}

/* One of the threads frees each handle; the others find it freed. */
struct race {
    model m;
    pthread_barrier_t begin;
    int freed[5]; /* by kind */
};

static void count(int *freed, qtsa_status status) {
    if (status == QTSA_OK)
        __atomic_fetch_add(freed, 1, __ATOMIC_SEQ_CST);
    else
        REFUSED(QTSA_ERR_INVALID_HANDLE, status, "freed");
}

static void *free_all(void *argument) {
    struct race *r = argument;
    float y[2][3];
    pthread_barrier_wait(&r->begin);
    if (model_run(r->m.plan, 1, y) == QTSA_OK) CHECK(model_right((const float(*)[3])y, 1));
    count(&r->freed[0], qtsa_backend_free(r->m.backend));
    count(&r->freed[1], qtsa_weights_free(r->m.weights));
    count(&r->freed[2], qtsa_graph_free(r->m.graph));
    count(&r->freed[3], qtsa_session_free(r->m.session));
    count(&r->freed[4], qtsa_plan_free(r->m.plan));
    return NULL;
}

/* Every thread keeps the words of its own failures. */
static void *own_words(void *counter) {
    int number = __atomic_fetch_add((int *)counter, 1, __ATOMIC_SEQ_CST), i;
    char name[32];
    snprintf(name, sizeof name, "tensor %d", number);
    CHECK(strcmp(qtsa_last_error(), "") == 0);
    for (i = 0; i < 1000; i++) {
        qtsa_tensor_info info;
        REFUSED(QTSA_ERR_NOT_FOUND, qtsa_weights_info(weights, name, 0, &info), name);
    }
    return NULL;
}

/* All threads build on one graph. */
static void *add_to_graph(void *shared) {
    const int64_t shape[] = {2, 2};
    int i;
    for (i = 0; i < RUNS; i++) {
        qtsa_tensor in[2], out;
        char name[64];
        snprintf(name, sizeof name, "%p-%d", (void *)&i, i);
        OK(qtsa_graph_input(*(qtsa_graph *)shared, name, QTSA_DTYPE_F32, shape, 2, &in[0]));
        in[1] = in[0];
        OK(qtsa_graph_op(*(qtsa_graph *)shared, "add", in, 2, NULL, 0, &out, 1));
        OK(qtsa_graph_output(*(qtsa_graph *)shared, name, out));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    qtsa_session session;
    qtsa_plan plan;
    qtsa_graph built;
    int counter = 0, round, kind;
    qtsa_backend_options o = qtsa_backend_options_init();
    OK(qtsa_backend_create(&o, &wide));
    o.threads = 1;
    OK(qtsa_backend_create(&o, &backend));
    weights = model_weights();
    graph = model_graph(weights);
    OK(qtsa_session_create(backend, &session));

    start(threads, own_session, &backend);
    join(threads);
    start(threads, own_session, &wide);
    join(threads);

    OK(qtsa_plan_create(session, graph, NULL, &plan));
    start(threads, same_plan, &plan);
    join(threads);

    for (round = 0; round < ROUNDS; round++) {
        if (round > 0) OK(qtsa_plan_create(session, graph, NULL, &plan));
        run_right(plan, round);
        start(threads, until_freed, &plan);
        run_right(plan, round);
        OK(qtsa_plan_free(plan));
        join(threads);
    }

    for (round = 0; round < ROUNDS; round++) {
        struct race r;
        memset(&r, 0, sizeof r);
        model_open(&r.m);
        CHECK(pthread_barrier_init(&r.begin, NULL, THREADS) == 0);
        start(threads, free_all, &r);
        join(threads);
        pthread_barrier_destroy(&r.begin);
        for (kind = 0; kind < 5; kind++) CHECK(r.freed[kind] == 1);
    }

    start(threads, own_words, &counter);
    join(threads);

    OK(qtsa_graph_create("built by many", &built));
    start(threads, add_to_graph, &built);
    join(threads);
    OK(qtsa_plan_create(session, built, NULL, &plan));
    OK(qtsa_plan_free(plan));
    OK(qtsa_graph_free(built));

    OK(qtsa_session_free(session));
    OK(qtsa_graph_free(graph));
    OK(qtsa_weights_free(weights));
    OK(qtsa_backend_free(backend));
    OK(qtsa_backend_free(wide));
    printf("ok\n");
    return 0;
}
