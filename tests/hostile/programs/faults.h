/* How a program that runs under "faults" has a system call or an allocation fail. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include <sys/syscall.h>
#include <unistd.h>

/* A number that no system call has: the supervisor answers it. */
#define FAULTS_CALL 0xFA17

enum {
    FAULTS_DISARM = 0, /* gives how many faults there were */
    FAULTS_ARM = 1,    /* of a kind, at the n-th call of it from now */
    FAULTS_SEEN = 2    /* how many calls of the kind were made since it was armed */
};

/* Which calls fail, and how. */
enum {
    FAULTS_MEMORY = 1,   /* mmap, brk, mremap: ENOMEM */
    FAULTS_FULL_TABLE,   /* what makes a descriptor: EMFILE */
    FAULTS_OPEN_BROKEN,  /* open: EIO */
    FAULTS_OPEN_STOPPED, /* open: EINTR, once */
    FAULTS_READ_BROKEN,  /* read: EIO */
    FAULTS_READ_STOPPED, /* read: EINTR, once */
    FAULTS_READ_SHORT,   /* read: half of what was asked for */
    FAULTS_READ_NOTHING, /* read: 0, as of a file that was cut short */
    FAULTS_FULL_DISK,    /* write, fsync, and what gives files room: ENOSPC */
    FAULTS_WRITE_SHORT,  /* write: half of it */
    FAULTS_RENAME,       /* rename: EIO */
    FAULTS_THREADS,      /* clone: EAGAIN */
    FAULTS_STAT,         /* stat, fstat: EIO */
    FAULTS_PROTECT,      /* mprotect, madvise: ENOMEM */
    FAULTS_HEAP,         /* malloc and its kin give null (heap.c, by LD_PRELOAD) */
    FAULTS_KINDS
};

static inline long faults(int what, int kind, long n) { return syscall(FAULTS_CALL, what, kind, n); }

#endif
