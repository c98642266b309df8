/* What stands before Go is entered: the refusal in a forked child, and the
 * thread's last error, which outlives the call that made it. */
#ifndef QTSACCEL_CAPI_ENTRY_H
#define QTSACCEL_CAPI_ENTRY_H

#include <stddef.h>

#include "qtsaccel.h"

/* Not 0 in a child made by fork(): Go's other threads do not exist there, and a
 * call that waits for one of them would wait for ever. */
extern int capi_forked;

/* How many callbacks of the host's this thread is in. What a call holds while it tells its
 * progress, another call from there would wait for: for ever. */
extern _Thread_local int32_t capi_callbacks;

/* Fails a call that was made in a callback. */
qtsa_status capi_refuse_in_callback(void);

/* Go raises the process's limit of descriptors when it starts: this undoes it, for hosts
 * that use select(), or count on the limit. Gives whether there was anything to undo. */
int capi_restore_limit(void);

/* Keeps a copy of the text, n bytes, as the thread's last error. */
void capi_set_error(const char *text, size_t n);

/* Fails a call for an out parameter that is null. */
qtsa_status capi_refuse_null(const char *parameter);

#endif
