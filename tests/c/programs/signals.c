/*
 * The host's signals stay the host's: Go, which is in the library, installs
 * handlers for the faults of its own code and passes on what is not its own.
 *
 * usage: signals LIBRARY
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "qtsaccel.h"

static void expect(int holds, int line, const char *what) {
    if (holds) return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    exit(1);
}
#define EXPECT(condition) expect((condition) != 0, __LINE__, #condition)

static volatile sig_atomic_t usr1, usr2, faults, alarms;
static void *volatile fault_address;
static sigjmp_buf behind_the_fault;

static void on_usr1(int signal) {
    (void)signal;
    usr1++;
}

static void on_usr2(int signal) {
    (void)signal;
    usr2++;
}

/* As hungry as a handler may be that writes a report. */
static void on_alarm(int signal) {
    volatile char report[16384];
    size_t i;
    (void)signal;
    for (i = 0; i < sizeof report; i++) report[i] = (char)i;
    alarms += report[100] == 100;
}

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    faults++;
    fault_address = info->si_addr;
    siglongjmp(behind_the_fault, 1);
}

static void handle(int signal, void (*plain)(int), void (*full)(int, siginfo_t *, void *), int flags) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    if (full != NULL) {
        a.sa_sigaction = full;
        flags |= SA_SIGINFO;
    } else {
        a.sa_handler = plain;
    }
    a.sa_flags = flags;
    EXPECT(sigaction(signal, &a, NULL) == 0);
}

static char *forbidden; /* a page that cannot be written */

/* A fault of the host's own, at a known address, that the host's handler survives. */
static void fault(void) {
    int before = faults;
    if (sigsetjmp(behind_the_fault, 1) == 0) {
        *(volatile char *)(forbidden + 64) = 1;
        EXPECT(!"written to a page that cannot be");
    }
    EXPECT(faults == before + 1);
    EXPECT(fault_address == forbidden + 64);
}

static void *fault_on_thread(void *unused) {
    (void)unused;
    fault();
    return NULL;
}

static __typeof__(&qtsa_tensor_bytes) tensor_bytes;
static __typeof__(&qtsa_backend_create) backend_create;
static __typeof__(&qtsa_backend_free) backend_free;

static void use_library(void) {
    const int64_t shape[] = {3, 5};
    size_t bytes;
    qtsa_backend b;
    EXPECT(tensor_bytes(QTSA_DTYPE_F32, shape, 2, &bytes) == QTSA_OK && bytes == 60);
    EXPECT(backend_create(NULL, &b) == QTSA_OK);
    EXPECT(backend_free(b) == QTSA_OK);
}

/* Signals that come thick and fast while threads are inside the library. */
static void *call_again_and_again(void *unused) {
    int i;
    (void)unused;
    for (i = 0; i < 300000; i++) {
        size_t bytes;
        EXPECT(tensor_bytes(QTSA_DTYPE_F32, NULL, 0, &bytes) == QTSA_OK && bytes == 4);
    }
    return NULL;
}

static void under_fire(void) {
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    int before = alarms, i;
    pthread_t threads[2];
    EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (i = 0; i < 2; i++) EXPECT(pthread_create(&threads[i], NULL, call_again_and_again, NULL) == 0);
    call_again_and_again(NULL);
    for (i = 0; i < 2; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
    EXPECT(alarms > before + 10);
}

static void all_still_work(void) {
    int before1 = usr1, before2 = usr2;
    pthread_t thread;
    use_library();
    EXPECT(raise(SIGUSR1) == 0 && usr1 == before1 + 1);
    EXPECT(kill(getpid(), SIGUSR2) == 0);
    while (usr2 == before2) usleep(1000); /* any thread may take it */
    fault();
    EXPECT(pthread_create(&thread, NULL, fault_on_thread, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    use_library();
    fault();
    under_fire();
}

int main(int argc, char **argv) {
    struct sigaction before[32], after;
    int signal;
    void *library, *symbol;
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
        return 2;
    }
    forbidden = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(forbidden != MAP_FAILED);

    handle(SIGUSR1, on_usr1, NULL, 0);
    handle(SIGUSR2, on_usr2, NULL, SA_RESTART);
    handle(SIGSEGV, NULL, on_fault, SA_NODEFER);
    handle(SIGALRM, on_alarm, NULL, SA_RESTART);
    handle(SIGPIPE, SIG_IGN, NULL, 0);
    fault();
    for (signal = 1; signal < 32; signal++) EXPECT(sigaction(signal, NULL, &before[signal]) == 0);

    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
#define FIND(name)                                            \
    EXPECT((symbol = dlsym(library, "qtsa_" #name)) != NULL); \
    memcpy(&name, &symbol, sizeof symbol)
    FIND(tensor_bytes);
    FIND(backend_create);
    FIND(backend_free);
    use_library();

    /* Handlers that were there before the library. */
    all_still_work();
    for (signal = 1; signal < 32; signal++) {
        EXPECT(sigaction(signal, NULL, &after) == 0);
        if (after.sa_sigaction == before[signal].sa_sigaction) continue;
        /* Go's own faults, what a broken pipe raises, and its preemption. */
        printf("taken over: %s\n", strsignal(signal));
        EXPECT(signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGPIPE || signal == SIGURG);
    }
    {
        int ends[2];
        EXPECT(pipe(ends) == 0 && close(ends[0]) == 0);
        EXPECT(write(ends[1], "x", 1) == -1); /* SIGPIPE is still ignored */
        close(ends[1]);
    }

    /* Handlers that the host installs afterwards; Go asks for SA_ONSTACK. */
    handle(SIGUSR1, on_usr1, NULL, SA_ONSTACK);
    handle(SIGALRM, on_alarm, NULL, SA_RESTART | SA_ONSTACK);
    handle(SIGSEGV, NULL, on_fault, SA_NODEFER | SA_ONSTACK);
    all_still_work();
    printf("ok\n");
    return 0;
}
