/* A progress callback that remembers what it was told. */
#ifndef TESTS_PROGRESS_H
#define TESTS_PROGRESS_H

#include "check.h"

/* limit: once so many bytes are exceeded, the callback asks to stop. */
typedef struct progress {
    uint64_t done, total, limit;
    int calls;
} progress;

static int32_t watch(uint64_t done, uint64_t total, void *user) {
    progress *p = user;
    CHECK(done <= total && (p->calls == 0 || done >= p->done));
    p->done = done;
    p->total = total;
    p->calls++;
    return done > p->limit;
}

#endif
