#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/auxv.h>
#endif
#ifdef __APPLE__
#include <crt_externs.h>
#endif

/* Whether the loader says that the program was started with other rights. */
static int foreign(void) {
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return issetugid();
#endif
}

const char *environment_get(const char *name) { return foreign() ? NULL : getenv(name); }

char **environment_all(void) {
    if (foreign()) return NULL;
#ifdef __APPLE__
    return *_NSGetEnviron();
#else
    return environ;
#endif
}
