#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

/* A pipe whose ends no program inherits and that lie above 0 to 3, which the child
 * gets anew. */
static int high_pipe(int ends[2]) {
    int low[2];
    if (pipe(low) != 0) return errno;
    int error = 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
        if (ends[i] < 0 && error == 0) error = errno;
    }
    close(low[0]);
    close(low[1]);
    if (error == 0) return 0;
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) close(ends[i]);
    }
    return error;
}

struct spawning {
    const char *path;
    char *const *argv;
    char *const *envp;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int pidfd;
    int error;
};

static int prepare(struct spawning *s, int lifeline, int lines) {
    int error = posix_spawn_file_actions_init(&s->actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&s->attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&s->actions);
        return error;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&s->attributes, &none);
    posix_spawnattr_setsigdefault(&s->attributes, &all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    posix_spawnattr_setflags(&s->attributes, flags);
    error = posix_spawn_file_actions_adddup2(&s->actions, lifeline, 0);
    for (int fd = 1; fd <= 3 && error == 0; fd++) error = posix_spawn_file_actions_adddup2(&s->actions, lines, fd);
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&s->actions, 4);
#endif
#endif
    if (error != 0) {
        posix_spawn_file_actions_destroy(&s->actions);
        posix_spawnattr_destroy(&s->attributes);
    }
    return error;
}

static void start(struct spawning *s) {
    s->error = posix_spawn(&s->pid, s->path, &s->actions, &s->attributes, s->argv, s->envp);
#ifdef SYS_pidfd_open
    /* Nobody has waited for it yet, so the number is still its own. */
    if (s->error == 0) s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
#endif
}

#ifdef __linux__

static int start_in_between(void *s) {
    start(s);
    return 0;
}

/*
 * A process in between starts the child and ends at once, so that init inherits the
 * child. The one in between shares memory and descriptors with us, which is how
 * results and pidfd come back, runs while we wait as in vfork(), and ends without a
 * signal to us: waits without __WCLONE do not see it, SIG_IGN does not reap it.
 */
static int start_unnoticed(struct spawning *s) {
    const size_t size = 256 * 1024;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return errno;
    sigset_t all, old;
    sigfillset(&all);
    /* No handler of the host's may run in the one in between. */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int error = 0;
    pid_t between = clone(start_in_between, stack + size, CLONE_VM | CLONE_VFORK | CLONE_FILES, s);
    if (between < 0) error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (between > 0) {
        while (waitpid(between, NULL, __WCLONE) < 0 && errno == EINTR) {
        }
        error = s->error;
    }
    munmap(stack, size);
    return error;
}

#else

static int start_unnoticed(struct spawning *s) {
    start(s);
    return s->error;
}

#endif

int probe_spawn(const char *path, char *const argv[], char *const envp[], struct probe_child *out) {
    int lines[2], lifeline[2];
    int error = high_pipe(lines);
    if (error != 0) return error;
    error = high_pipe(lifeline);
    if (error != 0) {
        close(lines[0]);
        close(lines[1]);
        return error;
    }
    struct spawning s = {.path = path, .argv = argv, .envp = envp, .pid = -1, .pidfd = -1};
    error = prepare(&s, lifeline[0], lines[1]);
    if (error == 0) {
        error = start_unnoticed(&s);
        posix_spawn_file_actions_destroy(&s.actions);
        posix_spawnattr_destroy(&s.attributes);
    }
    close(lines[1]);
    close(lifeline[0]);
    if (error != 0) {
        close(lines[0]);
        close(lifeline[1]);
        return error;
    }
    fcntl(lines[0], F_SETFL, fcntl(lines[0], F_GETFL) | O_NONBLOCK);
    *out = (struct probe_child){.lines = lines[0], .lifeline = lifeline[1], .pidfd = s.pidfd, .pid = s.pid};
    return 0;
}

int probe_wait(const struct probe_child *child, int ms) {
    struct pollfd fds[2] = {{.fd = child->lines, .events = POLLIN}, {.fd = child->pidfd, .events = POLLIN}};
    int n = poll(fds, child->pidfd >= 0 ? 2 : 1, ms);
    if (n <= 0) return 0; /* an interruption is looked at as a short wait */
    return (fds[0].revents != 0 ? 1 : 0) | (child->pidfd >= 0 && fds[1].revents != 0 ? 2 : 0);
}

void probe_end(struct probe_child *child) {
    close(child->lifeline);
    close(child->lines);
    if (child->pidfd >= 0) {
#ifdef SYS_pidfd_send_signal
        syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
#endif
        /* Where the host is init, or adopts orphans, the child has become its own. */
        struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
        poll(&ended, 1, 1000);
#ifdef __linux__
        siginfo_t info;
        waitid((idtype_t)3 /* P_PIDFD */, (id_t)child->pidfd, &info, WEXITED | WNOHANG);
#endif
        close(child->pidfd);
    }
#ifndef __linux__
    /* It is the host's child here, whom its lifeline ends. */
    for (int i = 0; i < 100 && waitpid(child->pid, NULL, WNOHANG) == 0; i++) usleep(10000);
#endif
}
