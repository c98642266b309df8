/* The limit of descriptors stays as the host has it. */
#define _GNU_SOURCE

#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

/* A host with the limit that select() has; the program runs itself anew with it. */
int main(int argc, char **argv) {
    struct rlimit limit;
    size_t n;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (argc == 1) {
        char *again[] = {argv[0], "again", NULL};
        limit.rlim_cur = 256;
        CHECK(limit.rlim_max > 256 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
        execv("/proc/self/exe", again);
        CHECK(!"started again");
    }
    OK(qtsa_tensor_bytes(QTSA_DTYPE_F32, NULL, 0, &n)); /* the library has started */
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(limit.rlim_cur == 256 && limit.rlim_max > 256);
    printf("ok\n");
    return 0;
}
