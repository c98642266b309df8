/* What the test programs check with: the first thing that is not as it should be
 * ends the program with its line, the call, and the library's words. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qtsaccel.h"

#define CHECK(condition) check((condition) != 0, __FILE__, __LINE__, #condition)

/* The call succeeds. */
#define OK(call) check_ok((call), __FILE__, __LINE__, #call)

/* The call fails with this status, and its message has each of these words. */
#define REFUSED(code, call, ...) \
    check_refused((call), (code), __FILE__, __LINE__, #call, __VA_ARGS__, (const char *)NULL)

static inline void check(int holds, const char *file, int line, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s:%d: not so: %s\n  last error: %s\n", file, line, what, qtsa_last_error());
    exit(1);
}

static inline void check_ok(qtsa_status status, const char *file, int line, const char *call) {
    if (status == QTSA_OK) return;
    fprintf(stderr, "%s:%d: %s\n  gave %s: %s\n", file, line, call, qtsa_status_name(status), qtsa_last_error());
    exit(1);
}

static inline void check_refused(qtsa_status status, qtsa_status want, const char *file, int line, const char *call,
                                 ...) {
    va_list words;
    const char *word, *text = qtsa_last_error();
    if (status != want) {
        fprintf(stderr, "%s:%d: %s\n  gave %s, want %s\n  %s\n", file, line, call, qtsa_status_name(status),
                qtsa_status_name(want), status == QTSA_OK ? "" : text);
        exit(1);
    }
    va_start(words, call);
    while ((word = va_arg(words, const char *)) != NULL) {
        if (strstr(text, word) != NULL) continue;
        fprintf(stderr, "%s:%d: %s\n  gave %s as it should, but its message lacks \"%s\":\n  %s\n", file, line, call,
                qtsa_status_name(status), word, text);
        exit(1);
    }
    va_end(words);
}

#endif
