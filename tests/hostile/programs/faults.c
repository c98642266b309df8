/*
 * Runs a program and has its n-th system call of a kind fail, as it asks for itself
 * (faults.h). All of a process's calls are seen, libc's and those that Go makes without
 * it, by seccomp's user notifications: the kernel asks here what a call is to give.
 *
 * usage: faults PROGRAM ARGUMENT...
 */
#define _GNU_SOURCE
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { BREAK, HALF, NOTHING };

static const struct kind {
    int how, error, n;
    int calls[14];
} kinds[FAULTS_KINDS] = {
    [FAULTS_MEMORY] = {BREAK, ENOMEM, 3, {SYS_mmap, SYS_brk, SYS_mremap}},
    [FAULTS_FULL_TABLE] = {BREAK,
                           EMFILE,
                           10,
                           {SYS_openat, SYS_open, SYS_epoll_create1, SYS_eventfd2, SYS_pipe2, SYS_dup, SYS_dup3,
                            SYS_socket, SYS_memfd_create, SYS_pidfd_open}},
    [FAULTS_OPEN_BROKEN] = {BREAK, EIO, 2, {SYS_openat, SYS_open}},
    [FAULTS_OPEN_STOPPED] = {BREAK, EINTR, 2, {SYS_openat, SYS_open}},
    [FAULTS_READ_BROKEN] = {BREAK, EIO, 2, {SYS_read, SYS_pread64}},
    [FAULTS_READ_STOPPED] = {BREAK, EINTR, 2, {SYS_read, SYS_pread64}},
    [FAULTS_READ_SHORT] = {HALF, 0, 2, {SYS_read, SYS_pread64}},
    [FAULTS_READ_NOTHING] = {NOTHING, 0, 2, {SYS_read, SYS_pread64}},
    [FAULTS_FULL_DISK] = {BREAK,
                          ENOSPC,
                          8,
                          {SYS_write, SYS_pwrite64, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_writev,
                           SYS_copy_file_range}},
    [FAULTS_WRITE_SHORT] = {HALF, 0, 2, {SYS_write, SYS_pwrite64}},
    [FAULTS_RENAME] = {BREAK, EIO, 6, {SYS_rename, SYS_renameat, SYS_renameat2, SYS_linkat, SYS_fchmod, SYS_fchmodat}},
    [FAULTS_THREADS] = {BREAK, EAGAIN, 2, {SYS_clone, SYS_clone3}},
    [FAULTS_STAT] = {BREAK, EIO, 5, {SYS_newfstatat, SYS_fstat, SYS_statx, SYS_stat, SYS_lstat}},
    [FAULTS_PROTECT] = {BREAK, ENOMEM, 2, {SYS_mprotect, SYS_madvise}},
};

static void die(const char *what) {
    perror(what);
    exit(125);
}

/* Has the kernel ask about every call that is of any kind; the listener's descriptor. */
static int listen_to_calls(void) {
    struct sock_filter filter[256];
    unsigned short n = 0;
    const struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    filter[n++] = load;
    for (int k = 0; k <= FAULTS_KINDS; k++) {
        static const struct kind asking = {0, 0, 1, {FAULTS_CALL}};
        const struct kind *of = k == FAULTS_KINDS ? &asking : &kinds[k];
        for (int i = 0; i < of->n; i++) {
            const struct sock_filter compare = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)of->calls[i], 0, 1);
            const struct sock_filter ask = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
            filter[n++] = compare;
            filter[n++] = ask;
        }
    }
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = allow;
    struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("prctl");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void give_descriptor(int to, int fd) {
    char data = 0, control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec v = {&data, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(to, &m, 0) != 1) die("sendmsg");
}

static int take_descriptor(int from) {
    int fd;
    char data, control[CMSG_SPACE(sizeof fd)];
    struct iovec v = {&data, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(from, &m, 0) != 1 || CMSG_FIRSTHDR(&m) == NULL) die("recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static int armed, faulted;
static long at, seen;

static int is_of(const struct kind *k, int call) {
    for (int i = 0; i < k->n; i++)
        if (k->calls[i] == call) return 1;
    return 0;
}

/* Half of a read or write, made here on the process's own open file. */
static int64_t half(const struct seccomp_data *d, pid_t pid) {
    const size_t n = (size_t)(d->args[2] > 1 ? d->args[2] / 2 : d->args[2]);
    char *room = malloc(n > 0 ? n : 1);
    int64_t done = -1;
    const int of = (int)syscall(SYS_pidfd_open, pid, 0);
    const int fd = of < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, of, (int)d->args[0], 0);
    struct iovec here = {room, n}, there = {(void *)(uintptr_t)d->args[1], n};
    if (fd >= 0 && room != NULL) {
        const off_t from = (off_t)d->args[3];
        if (d->nr == SYS_read || d->nr == SYS_pread64) {
            done = d->nr == SYS_read ? read(fd, room, n) : pread(fd, room, n, from);
            here.iov_len = there.iov_len = done > 0 ? (size_t)done : 0;
            if (done > 0 && process_vm_writev(pid, &here, 1, &there, 1, 0) != done) done = -1;
        } else if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n) {
            done = d->nr == SYS_write ? write(fd, room, n) : pwrite(fd, room, n, from);
        }
    }
    if (done < 0) done = -errno;
    if (fd >= 0) close(fd);
    if (of >= 0) close(of);
    free(room);
    return done;
}

/* The thread group of a thread, which pidfd_open wants. */
static pid_t process_of(pid_t thread) {
    char path[64], line[256];
    int group = thread;
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *f = fopen(path, "r");
    if (f == NULL) return thread;
    while (fgets(line, sizeof line, f) != NULL && sscanf(line, "Tgid: %d", &group) != 1) {
    }
    fclose(f);
    return group;
}

static void answer(const struct seccomp_notif *asked, struct seccomp_notif_resp *r) {
    const struct seccomp_data *d = &asked->data;
    memset(r, 0, sizeof *r);
    r->id = asked->id;
    r->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (d->nr == FAULTS_CALL) {
        r->flags = 0;
        switch (d->args[0]) {
            case FAULTS_ARM:
                armed = (int)d->args[1];
                at = (long)d->args[2];
                seen = faulted = 0;
                return;
            case FAULTS_SEEN:
                r->val = seen;
                return;
            default:
                r->val = faulted;
                armed = 0;
        }
        return;
    }
    if (armed <= 0 || armed >= FAULTS_HEAP || !is_of(&kinds[armed], d->nr) || ++seen != at) return;
    /* What the process prints is not its files. */
    if ((d->nr == SYS_write || d->nr == SYS_read) && d->args[0] <= 2) {
        seen--;
        return;
    }
    faulted = 1;
    r->flags = 0;
    if (kinds[armed].how == BREAK) {
        r->error = -kinds[armed].error;
    } else if (kinds[armed].how == HALF) {
        const int64_t done = half(d, process_of((pid_t)asked->pid));
        if (done < 0)
            r->error = (int)done;
        else
            r->val = done;
    }
}

int main(int argc, char **argv) {
    int pair[2], status;
    if (argc < 2) {
        fprintf(stderr, "usage: faults PROGRAM ARGUMENT...\n");
        return 125;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) die("socketpair");
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int listener = listen_to_calls();
        if (listener < 0) die("seccomp");
        give_descriptor(pair[1], listener);
        syscall(SYS_close, listener);
        execv(argv[1], argv + 1);
        die(argv[1]);
    }
    close(pair[1]);
    const int listener = take_descriptor(pair[0]);
    struct seccomp_notif asked;
    struct seccomp_notif_resp r;
    while (1) {
        struct pollfd p = {listener, POLLIN, 0};
        if (poll(&p, 1, -1) < 0 && errno != EINTR) die("poll");
        if (p.revents & POLLHUP) break;
        memset(&asked, 0, sizeof asked);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue; /* it was killed in between */
        answer(&asked, &r);
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
    }
    if (waitpid(child, &status, 0) != child) die("waitpid");
    if (WIFSIGNALED(status)) {
        printf("ended by signal %d\n", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}
