/*
 * Runs the model on a device whose plugin fails in the middle of it, as FAKE_PLUGIN says
 * (backends/probe/probetest), at the first run, the second, and so on. Each failure has
 * its status, another backend goes on, and what is made anew works.
 *
 * usage: device FOLDER
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "../../c/programs/model.h"

static void open_on(model *m, const char *backend) {
    qtsa_backend_options o = qtsa_backend_options_init();
    o.backend = backend;
    o.probe = "off";
    o.threads = 1;
    OK(qtsa_backend_create(&o, &m->backend));
    m->weights = model_weights();
    m->graph = model_graph(m->weights);
    OK(qtsa_session_create(m->backend, &m->session));
    OK(qtsa_plan_create(m->session, m->graph, NULL, &m->plan));
}

static void behave(const char *how) { CHECK(setenv("FAKE_PLUGIN", how, 1) == 0); }

/* The n-th run fails: with which status, and whether the device is lost for good. */
static void fail_at(int n, const char *how, qtsa_status want, int lost, const model *cpu) {
    model m;
    float y[2][3];
    int i;
    behave("");
    open_on(&m, "cuda");
    for (i = 1; i < n; i++) MODEL_RUNS(m.plan);
    behave(how);
    REFUSED(want, model_run(m.plan, 1, y), "cuda");
    MODEL_RUNS(cpu->plan);
    behave("");
    MODEL_RUNS(cpu->plan);
    if (lost) {
        REFUSED(want, model_run(m.plan, 1, y), "made anew");
    } else {
        /* The state of the session is undefined: another one serves. */
        qtsa_session s;
        qtsa_plan p;
        OK(qtsa_session_create(m.backend, &s));
        OK(qtsa_plan_create(s, m.graph, NULL, &p));
        MODEL_RUNS(p);
        OK(qtsa_plan_free(p));
        OK(qtsa_session_free(s));
    }
    model_free(&m);
    open_on(&m, "cuda");
    MODEL_RUNS(m.plan);
    model_free(&m);
}

static void *run_it(void *plan) {
    static float y[2][3];
    static qtsa_status status;
    status = model_run((qtsa_plan)plan, 1, y);
    CHECK(status != QTSA_OK || model_right((const float(*)[3])y, 1));
    return &status;
}

/* A run that the driver does not come back from takes its thread with it, and nobody
 * else: other backends compute, the run can be cancelled, handles freed. */
static void hang(const char *folder, const model *cpu) {
    model m;
    char path[4096];
    pthread_t thread;
    void *status;
    FILE *f;
    int i;
    snprintf(path, sizeof path, "%s/go", folder);
    CHECK(setenv("FAKE_WAIT", path, 1) == 0);
    behave("");
    open_on(&m, "cuda");
    MODEL_RUNS(m.plan);
    behave("wait");
    CHECK(pthread_create(&thread, NULL, run_it, m.plan) == 0);
    for (i = 0; i < 50; i++) {
        MODEL_RUNS(cpu->plan);
        usleep(1000);
    }
    OK(qtsa_session_cancel(m.session));
    OK(qtsa_plan_free(m.plan));
    OK(qtsa_session_free(m.session));
    OK(qtsa_graph_free(m.graph));
    OK(qtsa_weights_free(m.weights));
    OK(qtsa_backend_free(m.backend));
    MODEL_RUNS(cpu->plan);
    f = fopen(path, "w");
    CHECK(f != NULL && fclose(f) == 0);
    CHECK(pthread_join(thread, &status) == 0);
    CHECK(*(qtsa_status *)status == QTSA_OK || *(qtsa_status *)status == QTSA_ERR_CANCELLED);
    behave("");
    open_on(&m, "cuda");
    MODEL_RUNS(m.plan);
    model_free(&m);
}

/* A device that cannot be opened: it is, for each session. */
static void absent(void) {
    qtsa_backend_options o = qtsa_backend_options_init();
    qtsa_backend b;
    qtsa_session s;
    o.backend = "cuda";
    o.probe = "off";
    OK(qtsa_backend_create(&o, &b));
    behave("init-null");
    REFUSED(QTSA_ERR_DEVICE_UNAVAILABLE, qtsa_session_create(b, &s), "cuda");
    CHECK(s == NULL);
    behave("");
    OK(qtsa_session_create(b, &s));
    OK(qtsa_session_free(s));
    OK(qtsa_backend_free(b));
}

int main(int argc, char **argv) {
    model cpu;
    int n;
    CHECK(argc == 2);
    absent();
    open_on(&cpu, "cpu");
    for (n = 1; n <= 4; n++) {
        fail_at(n, "failed", QTSA_ERR_DEVICE_LOST, 1, &cpu);
        fail_at(n, "no-memory", QTSA_ERR_OUT_OF_MEMORY, 0, &cpu);
        fail_at(n, "throw", QTSA_ERR_INTERNAL, 0, &cpu);
        fail_at(n, "lost", QTSA_ERR_DEVICE_LOST, 1, &cpu);
        fail_at(n, "assert", QTSA_ERR_DEVICE_LOST, 1, &cpu);
    }
    hang(argv[1], &cpu);
    MODEL_RUNS(cpu.plan);
    model_free(&cpu);
    printf("ok\n");
    return 0;
}
