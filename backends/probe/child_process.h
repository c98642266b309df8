/* Starting a child that the host does not notice, and watching it. */
#ifndef PROBE_CHILD_PROCESS_H
#define PROBE_CHILD_PROCESS_H

#include <sys/types.h>

struct probe_child {
    int lines;    /* what the child writes, nonblocking */
    int lifeline; /* closing it ends the child */
    int pidfd;    /* -1 where the system has none */
    pid_t pid;
};

/*
 * Starts the program at path. Its descriptor 0 is the other end of the lifeline; 1,
 * 2 and 3 are that of the lines; it has no other. Signals are at their defaults, it
 * is in a session of its own. Returns 0, or errno.
 *
 * On Linux it is not the host's child: a host that blocks in wait(-1), counts its
 * children or has a handler for SIGCHLD sees nothing of it.
 */
int probe_spawn(const char *path, char *const argv[], char *const envp[], struct probe_child *out);

/*
 * Waits for at most ms milliseconds. Bit 0: there is something to read from lines,
 * or its end; bit 1: the child has ended. 0: time is up.
 */
int probe_wait(const struct probe_child *child, int ms);

/* Ends the child if it has not ended, and gives all descriptors back. */
void probe_end(struct probe_child *child);

#endif
