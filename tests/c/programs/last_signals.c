/*
 * How a process ends that has the library in it: by its own signal, with nothing
 * printed, as it would without. usage: last_signals CASE FOLDER
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static const char *what;
static volatile sig_atomic_t urgent;
static volatile int *volatile nowhere;

static void on_urgent(int number) { urgent += number == SIGURG; }

/* Ends with a status of its own, if all that it is told is right. */
static void on_fault(int number, siginfo_t *info, void *context) {
    const void *at = strstr(what, "map") ? info->si_addr : (const void *)nowhere;
    _exit(number == (strstr(what, "map") ? SIGBUS : SIGSEGV) && context != NULL && info->si_addr == at ? 42 : 1);
}

static int32_t in_callback(uint64_t done, uint64_t total, void *user) {
    int ends[2];
    (void)done;
    (void)total;
    (void)user;
    if (strstr(what, "null") || strstr(what, "far")) *nowhere = 1;
    if (strstr(what, "raise")) raise(SIGSEGV);
    if (strstr(what, "divide")) raise(SIGFPE);
    if (strstr(what, "urgent")) raise(SIGURG);
    if (strstr(what, "pipe")) {
        CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
        CHECK(write(ends[1], "x", 1) == -1);
    }
    return 0;
}

enum { N = 512 };
static float data[N * N], x[N], y[N];

static qtsa_weights square(void) {
    const int64_t shape[] = {N, N};
    qtsa_weights w;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, "w", QTSA_DTYPE_F32, shape, 2));
    OK(set_dense(w, "w", data, sizeof data));
    return w;
}

/* A mapped file that is cut short while a plan uses it. */
static void cut_short(const char *path) {
    const int64_t shape[] = {1, N};
    qtsa_weights_options o;
    qtsa_backend_options bo;
    qtsa_backend backend;
    qtsa_weights w = square();
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor in[2], out;
    qtsa_input input = {x, sizeof x};
    qtsa_output output = {y, sizeof y};
    qtsa_run_options run;
    OK(qtsa_weights_save(w, path, NULL, 0, NULL, NULL));
    OK(qtsa_weights_free(w));
    o = qtsa_weights_options_init();
    o.placement = QTSA_PLACEMENT_MAPPED;
    OK(qtsa_weights_open(path, &o, &w));
    bo = qtsa_backend_options_init();
    bo.backend = "cpu";
    bo.threads = 1;
    OK(qtsa_backend_create(&bo, &backend));
    OK(qtsa_graph_create("g", &graph));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 2, &in[0]));
    OK(qtsa_graph_weight(graph, w, "w", &in[1]));
    OK(qtsa_graph_op(graph, "linear", in, 2, NULL, 0, &out, 1));
    OK(qtsa_graph_output(graph, "y", out));
    OK(qtsa_session_create(backend, &session));
    OK(qtsa_plan_create(session, graph, NULL, &plan));
    run = qtsa_run_options_init();
    run.threads = 1;
    OK(qtsa_plan_run(plan, &input, 1, &output, 1, &run));
    CHECK(truncate(path, 8192) == 0); /* what is found before a run is a status */
    qtsa_plan_run(plan, &input, 1, &output, 1, &run);
}

/* Go's collector interrupts its threads while this goes on. */
static void *keep_busy(void *unused) {
    int i;
    (void)unused;
    for (i = 0; i < 20; i++) OK(qtsa_weights_free(square()));
    return NULL;
}

int main(int argc, char **argv) {
    char path[4096];
    qtsa_weights w;
    CHECK(argc == 3);
    what = argv[1];
    snprintf(path, sizeof path, "%s/%s.gguf", argv[2], what);
    nowhere = strstr(what, "far") ? (volatile int *)(16 << 20) : NULL;
    if (strstr(what, "far")) {
        void *at = mmap((void *)(16 << 20), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(at != MAP_FAILED);
        nowhere = at;
    }
    if (strstr(what, "sent")) {
        kill(getpid(), SIGSEGV);
        for (;;) pause();
    }
    if (strstr(what, "map")) {
        cut_short(path);
        return 1;
    }
    if (strstr(what, "urgent")) {
        int i, before;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, keep_busy, NULL) == 0);
        for (i = 0; i < 10; i++) {
            before = urgent;
            raise(SIGURG);
            CHECK(urgent >= before + 1);
            before = urgent;
            kill(getpid(), SIGURG);
            while (urgent == before) usleep(1000);
        }
        CHECK(pthread_join(thread, NULL) == 0);
        before = urgent;
        OK(qtsa_weights_save(w = square(), path, NULL, 0, in_callback, NULL));
        CHECK(urgent > before);
        OK(qtsa_weights_free(w));
        printf("ok\n");
        return 0;
    }
    w = square();
    OK(qtsa_weights_save(w, path, NULL, 0, in_callback, NULL));
    return strstr(what, "ignored") ? 42 : 1;
}

/* Before the library is loaded, which this program is linked against: the dynamic
 * loader runs this first. */
static void before(int argc, char **argv, char **env) {
    struct sigaction a;
    (void)env;
    memset(&a, 0, sizeof a);
    if (argc < 2) return;
    what = argv[1];
    if (strstr(what, "handled")) {
        a.sa_sigaction = on_fault;
        a.sa_flags = SA_SIGINFO;
        sigaction(strstr(what, "map") ? SIGBUS : SIGSEGV, &a, NULL);
    }
    if (strstr(what, "urgent")) {
        a.sa_handler = on_urgent;
        a.sa_flags = SA_RESTART;
        sigaction(SIGURG, &a, NULL);
    }
    if (strstr(what, "ignored")) {
        a.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &a, NULL);
    }
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before;
