/* Calls of what a host gave as a callback: Go cannot call a C function by its
 * address. */
#ifndef QTSACCEL_CAPI_CALLBACKS_H
#define QTSACCEL_CAPI_CALLBACKS_H

#include "qtsaccel.h"

static inline int32_t capi_progress(qtsa_progress_callback callback, uint64_t done, uint64_t total, uintptr_t user) {
    return callback(done, total, (void *)user);
}

static inline void capi_release(qtsa_release_callback callback, uintptr_t user) { callback((void *)user); }

#endif
