/*
 * A host with children of its own, in one of the ways in which hosts treat them,
 * which creates backends while the library probes. It must live, get the right
 * values or the right status, and see nothing of the library's children.
 *
 * usage: host HOW WANT [WORD...]
 *   HOW   plain    its child is waited for by number
 *         ignore   SIGCHLD is ignored, so the kernel reaps
 *         handler  SIGCHLD has a handler that reaps whatever there is
 *         waiting  a thread blocks in wait(-1) all the time
 *         twice    two threads create backends at once
 *   WANT  the backend that auto must take: its report must have the words. Where it
 *         is not cuda:0, cuda by name must be DEVICE_UNAVAILABLE with them.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../c/programs/model.h"

static pid_t own;                     /* the host's own child, which ends at the end */
static volatile sig_atomic_t signals; /* SIGCHLD received */
static volatile int strangers;        /* children reaped that were not the host's */
static volatile int reaped;           /* the own child was */

static void on_child(int signal) {
    int saved = errno;
    pid_t pid;
    (void)signal;
    signals++;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        if (pid == own) {
            reaped = 1;
        } else {
            strangers++;
        }
    }
    errno = saved;
}

static void *wait_for_any(void *unused) {
    pid_t pid;
    (void)unused;
    while (!reaped) {
        pid = wait(NULL);
        if (pid == own) {
            reaped = 1;
        } else if (pid > 0) {
            strangers++;
        } else if (errno != EINTR) {
            strangers += 100;
            break;
        }
    }
    return NULL;
}

static const char *want;
static char **words;

static void names(qtsa_backend backend) {
    char name[256], report[8192];
    size_t n;
    char **w;
    backend_name(backend, name, sizeof name);
    OK(qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, report, sizeof report, &n));
    if (strncmp(name, want, strlen(want)) != 0) {
        fprintf(stderr, "auto took %s, want %s\n%s\n", name, want, report);
        exit(1);
    }
    for (w = words; *w != NULL; w++) {
        if (strstr(report, *w) != NULL) continue;
        fprintf(stderr, "the report lacks \"%s\":\n%s\n", *w, report);
        exit(1);
    }
}

static void *create(void *unused) {
    model m;
    qtsa_backend_options options;
    qtsa_backend backend = NULL;
    char **w;
    (void)unused;
    model_open(&m);
    names(m.backend);
    MODEL_RUNS(m.plan);

    options = qtsa_backend_options_init();
    options.backend = "cuda";
    if (strcmp(want, "cuda:0") == 0) {
        OK(qtsa_backend_create(&options, &backend));
        OK(qtsa_backend_free(backend));
    } else {
        REFUSED(QTSA_ERR_DEVICE_UNAVAILABLE, qtsa_backend_create(&options, &backend), "cuda");
        for (w = words; *w != NULL; w++) CHECK(strstr(qtsa_last_error(), *w) != NULL);
        CHECK(backend == NULL);
    }
    MODEL_RUNS(m.plan);
    model_free(&m);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how;
    struct sigaction action;
    pthread_t waiter, other;
    int hold[2], status = 0;
    struct timespec tick = {0, 10 * 1000 * 1000};
    int i;
    CHECK(argc >= 3);
    how = argv[1];
    want = argv[2];
    words = argv + 3;

    memset(&action, 0, sizeof action);
    if (strcmp(how, "ignore") == 0) {
        action.sa_handler = SIG_IGN;
        CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    } else if (strcmp(how, "handler") == 0) {
        action.sa_handler = on_child;
        action.sa_flags = SA_RESTART;
        CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    }

    CHECK(pipe(hold) == 0);
    own = fork();
    CHECK(own >= 0);
    if (own == 0) {
        char c;
        close(hold[1]);
        _exit(read(hold[0], &c, 1) == 0 ? 7 : 8);
    }
    close(hold[0]);
    if (strcmp(how, "waiting") == 0) CHECK(pthread_create(&waiter, NULL, wait_for_any, NULL) == 0);

    if (strcmp(how, "twice") == 0) CHECK(pthread_create(&other, NULL, create, NULL) == 0);
    create(NULL);
    if (strcmp(how, "twice") == 0) CHECK(pthread_join(other, NULL) == 0);

    /* Nothing came of the library's children, and the own one is still there. */
    CHECK(signals == 0);
    CHECK(strangers == 0);
    CHECK(!reaped);
    CHECK(kill(own, 0) == 0);
    close(hold[1]);
    if (strcmp(how, "waiting") == 0) {
        CHECK(pthread_join(waiter, NULL) == 0);
    } else if (strcmp(how, "handler") == 0) {
        for (i = 0; i < 500 && !reaped; i++) nanosleep(&tick, NULL);
        CHECK(signals == 1);
        CHECK(reaped);
    } else if (strcmp(how, "ignore") == 0) {
        CHECK(waitpid(own, &status, 0) == -1 && errno == ECHILD);
    } else {
        CHECK(waitpid(own, &status, 0) == own);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    CHECK(strangers == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    printf("ok\n");
    return 0;
}
