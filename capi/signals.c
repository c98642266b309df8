/*
 * Whose a signal is. Go's runtime, when it is loaded, puts handlers of its own in the
 * place of the host's, and would have the process end with a dump and SIGQUIT for what
 * is neither its own nor handled by the host. So this file runs before it and after it:
 *
 * - before, it notes the host's handlers, and has Go find on_foreign in their place:
 *   Go forwards to that each fault that did not come of its own code;
 * - after, it puts on_fault and on_urgent over Go's handlers, which ask Go only for what
 *   may be Go's, and gives SIGFPE and SIGPIPE back, which Go's code never raises.
 *
 * All of Linux: its loader runs constructors of a low number before those without one,
 * and Go's among the latter, first. Where they run in another order, Go's own rules stay
 * in force.
 */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { SEGV, BUS, FPE, PIPE, URG, COUNT };
static const int numbers[COUNT] = {SIGSEGV, SIGBUS, SIGFPE, SIGPIPE, SIGURG};

static struct sigaction host[COUNT]; /* as they were before the library was loaded */
static struct sigaction go[COUNT];

/* Where this library's code is. */
static uintptr_t code_begin, code_end;

static int index_of(int number) {
    int i = 0;
    while (i < COUNT - 1 && numbers[i] != number) i++;
    return i;
}

static int is_function(const struct sigaction *a) {
    return (a->sa_flags & SA_SIGINFO) != 0 || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

static void call(const struct sigaction *a, int number, siginfo_t *info, void *context) {
    if (a->sa_flags & SA_SIGINFO) {
        a->sa_sigaction(number, info, context);
    } else {
        a->sa_handler(number);
    }
}

/* Calls the host's handler with the signals blocked that the host wants blocked. */
static void call_host(int i, siginfo_t *info, void *context) {
    const struct sigaction a = host[i];
    sigset_t during, now;
    if (a.sa_flags & SA_RESETHAND) {
        host[i].sa_flags &= ~SA_SIGINFO;
        host[i].sa_handler = SIG_DFL;
    }
    sigemptyset(&during);
    /* The kernel's set is shorter than the library's. */
    memcpy(&during, &((ucontext_t *)context)->uc_sigmask, sizeof(uint64_t));
    sigorset(&during, &during, &a.sa_mask);
    if (!(a.sa_flags & SA_NODEFER)) sigaddset(&during, numbers[i]);
    pthread_sigmask(SIG_SETMASK, &during, &now);
    call(&a, numbers[i], info, context);
    pthread_sigmask(SIG_SETMASK, &now, NULL);
}

/* Has the process end as it would without a handler. */
static void end_by(int i, const siginfo_t *info) {
    struct sigaction by_default;
    memset(&by_default, 0, sizeof by_default);
    by_default.sa_handler = SIG_DFL;
    sigaction(numbers[i], &by_default, NULL);
    /* A fault comes again where it came from; what was sent has to be sent again, and
     * arrives when the handler has returned. */
    if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), numbers[i]);
}

static void pass_on(int i, siginfo_t *info, void *context) {
    if (is_function(&host[i])) {
        call_host(i, info, context);
    } else if (host[i].sa_handler == SIG_DFL || info->si_code > 0) {
        end_by(i, info); /* the kernel, too, lets nobody ignore a fault */
    }
}

static void on_foreign(int number, siginfo_t *info, void *context) { pass_on(index_of(number), info, context); }

/*
 * Go makes a panic, and so a status, only of what dereferences null; every other fault
 * of its code ends the process: that is the host's to see, such as SIGBUS for a mapped
 * file that was cut short.
 */
static void on_fault(int number, siginfo_t *info, void *context) {
    const int i = index_of(number);
    const int of_an_address =
        number == SIGSEGV ? info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR : info->si_code == BUS_ADRERR;
    if (of_an_address && (uintptr_t)info->si_addr < 4096) {
        call(&go[i], number, info, context);
    } else {
        pass_on(i, info, context);
    }
}

static uintptr_t program_counter(const void *context) {
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return code_begin; /* nobody knows */
#endif
}

/* Go interrupts its own threads by this signal, in the middle of its code; what comes
 * otherwise is the host's. */
static void on_urgent(int number, siginfo_t *info, void *context) {
    const uintptr_t at = program_counter(context);
    (void)number;
    if (info->si_code == SI_TKILL && info->si_pid == getpid() && at >= code_begin && at < code_end) {
        call(&go[URG], number, info, context);
    } else {
        pass_on(URG, info, context);
    }
}

/* A handler as Go's are: on the alternate stack, since Go's stacks are small. */
static void put(int i, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = handler;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&a.sa_mask);
    sigaction(numbers[i], &a, NULL);
}

static int find_code(struct dl_phdr_info *info, size_t size, void *anchor) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t begin = (uintptr_t)info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X)) continue;
        if ((uintptr_t)anchor < begin || (uintptr_t)anchor - begin >= h->p_memsz) continue;
        code_begin = begin;
        code_end = begin + h->p_memsz;
        return 1;
    }
    return 0;
}

/* 101 is the first number that is not the compiler's own. */
__attribute__((constructor(101))) static void before_go(void) {
    for (int i = 0; i < COUNT; i++) sigaction(numbers[i], NULL, &host[i]);
    put(SEGV, on_foreign);
    put(BUS, on_foreign);
}

__attribute__((constructor)) static void after_go(void) {
    dl_iterate_phdr(find_code, (void *)(uintptr_t)after_go);
    for (int i = 0; i < COUNT; i++) {
        const int faults = i == SEGV || i == BUS;
        if (sigaction(numbers[i], NULL, &go[i]) != 0 || !is_function(&go[i])) continue;
        if (go[i].sa_sigaction == (faults ? on_foreign : host[i].sa_sigaction)) continue; /* not Go's */
        if (faults) {
            put(i, on_fault);
        } else if (i != URG) {
            struct sigaction own = host[i];
            if (is_function(&own)) own.sa_flags |= SA_ONSTACK;
            sigaction(numbers[i], &own, NULL);
        } else if (is_function(&host[i])) {
            put(i, on_urgent);
        }
    }
}

#endif
