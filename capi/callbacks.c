#include "callbacks.h"

#include <stdlib.h>

capi_logger *capi_make_logger(qtsa_log_callback callback, uintptr_t user) {
    capi_logger *made = malloc(sizeof *made);
    if (made) *made = (capi_logger){callback, (void *)user};
    return made;
}

void capi_log(int32_t level, const char *text, void *logger) {
    const capi_logger *to = logger;
    capi_callbacks++;
    to->callback(level, text, to->user);
    capi_callbacks--;
}
