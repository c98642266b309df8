/* What the example programs share: ending with words, options, a clock. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "qtsaccel.h"

/* Ends the program with a line on stderr and exit code 1. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("error: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

/* Every call of the library goes through this: if it failed, the library says why. */
#define CHECK(call)                        \
    do {                                   \
        if ((call) != QTSA_OK) {           \
            fail("%s", qtsa_last_error()); \
        }                                  \
    } while (0)

/*
 * The value of the option at argv[*i] if it is the named one, and *i moves on to
 * it; else null.
 */
static inline const char *option(char **argv, int *i, const char *name) {
    if (strcmp(argv[*i], name) != 0) {
        return NULL;
    }
    if (argv[*i + 1] == NULL) {
        fail("%s needs a value", name);
    }
    return argv[++*i];
}

/* The whole number that an option was given, from min to max. */
static inline int option_int(const char *name, const char *text, int min, int max) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        fail("%s needs a whole number from %d to %d, not \"%s\"", name, min, max, text);
    }
    return (int)value;
}

/* Makes the named backend, null for the best one, and says what it computes on. */
static inline qtsa_backend open_backend(const char *name, char *device, size_t capacity) {
    qtsa_backend_options options;
    qtsa_backend backend;
    char *report;
    size_t size;
    options = qtsa_backend_options_init();
    options.backend = name;
    CHECK(qtsa_backend_create(&options, &backend));
    CHECK(qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, NULL, 0, &size));
    report = malloc(size);
    if (report == NULL) {
        fail("out of memory: %zu bytes wanted", size);
    }
    CHECK(qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, report, size, &size));
    snprintf(device, capacity, "%.*s", (int)strcspn(report, "\n"), report); /* the first line is the name */
    free(report);
    return backend;
}

/* Seconds since some moment in the past. */
static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* malloc, or the end. */
static inline void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fail("out of memory: %zu bytes wanted", bytes);
    }
    return memory;
}

#endif /* EXAMPLE_H */
