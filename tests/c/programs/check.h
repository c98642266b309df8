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

/* Fills a struct that begins with struct_size with zeros. */
#define SIZED(s) (memset(&(s), 0, sizeof(s)), (void)((s).struct_size = sizeof(s)))

/* Adds a tensor without its elements. */
static inline qtsa_status add_declared(qtsa_weights w, const char *name, qtsa_dtype dtype, const int64_t *shape,
                                       int32_t rank) {
    qtsa_array a = qtsa_array_dense(dtype, rank > 0 ? shape : NULL, shape != NULL ? rank : 0, NULL, 0);
    a.rank = rank;
    return qtsa_weights_add(w, name, &a);
}

/* Gives a tensor its elements, in its own type. */
static inline qtsa_status set_dense(qtsa_weights w, const char *name, const void *data, size_t bytes) {
    const qtsa_array a = qtsa_array_dense(0, NULL, 0, data, bytes);
    return qtsa_weights_set(w, name, &a);
}

/* Gives a tensor the elements of an array of its shape. */
static inline qtsa_status set_array(qtsa_weights w, const char *name, const void *data, qtsa_dtype dtype,
                                    const int64_t *strides, qtsa_release_callback release, void *user) {
    qtsa_array a = qtsa_array_dense(dtype, NULL, 0, data, 0);
    qtsa_tensor_info info;
    if (strides == NULL && qtsa_weights_info(w, name, 0, &info) == QTSA_OK)
        if (qtsa_tensor_bytes(dtype, info.shape, info.rank, &a.bytes) != QTSA_OK) a.bytes = 1;
    a.strides = strides;
    a.release = release;
    a.user = user;
    return qtsa_weights_set(w, name, &a);
}

/* qtsa_attention() with its description's fields in a row. */
static inline qtsa_status attention_of(qtsa_backend backend, const float *q, const float *k, const float *v, int64_t tq,
                                       int64_t tk, int64_t heads, int64_t kv_heads, int64_t head_dim, int32_t causal,
                                       int64_t window, double scale, float *out, int32_t flags) {
    qtsa_attention_desc d;
    SIZED(d);
    d.q = q, d.k = k, d.v = v, d.out = out;
    d.tq = tq, d.tk = tk, d.heads = heads, d.kv_heads = kv_heads, d.head_dim = head_dim;
    d.causal = causal, d.window = window, d.scale = scale;
    return qtsa_attention(backend, &d, flags);
}

/* Makes thresholds anew. */
static inline qtsa_status calibrate(qtsa_backend backend, int32_t how) {
    qtsa_calibrate_options o = qtsa_calibrate_options_init();
    o.how = how;
    return qtsa_backend_calibrate(backend, &o);
}

/* Sets one threshold and leaves the others. */
static inline qtsa_status set_threshold(qtsa_backend backend, const char *op, double min_flops, double flops_per_byte) {
    const qtsa_threshold t = {sizeof t, op, min_flops, flops_per_byte};
    qtsa_calibrate_options o = qtsa_calibrate_options_init();
    o.how = QTSA_CALIBRATE_KEEP;
    o.thresholds = &t;
    o.n_thresholds = 1;
    return qtsa_backend_calibrate(backend, &o);
}

/* The first line of a backend's report. */
static inline void backend_name(qtsa_backend backend, char *name, size_t capacity) {
    static char text[1 << 16];
    size_t n;
    check_ok(qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, text, sizeof text, &n), __FILE__, __LINE__, "report");
    snprintf(name, capacity, "%.*s", (int)strcspn(text, "\n"), text);
}

#endif
