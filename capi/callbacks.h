/* Calls of what a host gave as a callback: Go cannot call a C function by its address.
 * Each is made here, between enter and leave, so that the library refuses to be called
 * from within one. */
#ifndef QTSACCEL_CAPI_CALLBACKS_H
#define QTSACCEL_CAPI_CALLBACKS_H

#include "entry.h"
#include "qtsaccel.h"

static inline int32_t capi_progress(qtsa_progress_callback callback, uint64_t done, uint64_t total, uintptr_t user) {
    capi_callbacks++;
    const int32_t cancel = callback(done, total, (void *)user);
    capi_callbacks--;
    return cancel;
}

static inline void capi_release(qtsa_release_callback callback, uintptr_t user) {
    capi_callbacks++;
    callback((void *)user);
    capi_callbacks--;
}

/* A callback of the host's for the log, and what it is passed. */
typedef struct capi_logger {
    qtsa_log_callback callback;
    void *user;
} capi_logger;

/* Gives null where there is no memory. */
capi_logger *capi_make_logger(qtsa_log_callback callback, uintptr_t user);

/* Tells a line to the capi_logger that logger points to. */
void capi_log(int32_t level, const char *text, void *logger);

#endif
