#include "entry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int capi_forked;
_Thread_local int32_t capi_callbacks;

/* A thread's last error; it stays with its thread and grows. */
struct message {
    size_t capacity; /* of text */
    char text[];
};

static const char in_child[] = "the library cannot be used in a child made by fork() without exec()";

static pthread_key_t message_key;
static int message_key_made;

static void in_forked_child(void) { capi_forked = 1; }

/* The limit of descriptors as the host has it; 101 comes before Go. */
static struct rlimit descriptors;
__attribute__((constructor(101))) static void note_limit(void) { getrlimit(RLIMIT_NOFILE, &descriptors); }

int capi_restore_limit(void) {
    struct rlimit now;
    /* Go takes the hard limit, or one less. A host may have set its own meanwhile. */
    if (getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur + 1 < now.rlim_max) return 0;
    if (now.rlim_max != descriptors.rlim_max || descriptors.rlim_cur >= now.rlim_cur) return 0;
    return setrlimit(RLIMIT_NOFILE, &descriptors) == 0;
}

__attribute__((constructor)) static void prepare(void) {
    message_key_made = pthread_key_create(&message_key, free) == 0;
    pthread_atfork(NULL, NULL, in_forked_child);
}

void capi_set_error(const char *text, size_t n) {
    if (!message_key_made) return;
    struct message *m = pthread_getspecific(message_key);
    if (!m || m->capacity <= n) {
        size_t capacity = n < 255 ? 256 : n + 1;
        struct message *larger = realloc(m, sizeof *larger + capacity);
        if (larger) {
            larger->capacity = capacity;
            pthread_setspecific(message_key, larger);
            m = larger;
        } else if (m) {
            n = m->capacity - 1; /* what fits says more than nothing */
        } else {
            return;
        }
    }
    memcpy(m->text, text, n);
    m->text[n] = 0;
}

qtsa_status capi_refuse_null(const char *parameter) {
    char text[64];
    int n = snprintf(text, sizeof text, "%s is null", parameter);
    capi_set_error(text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    return QTSA_ERR_INVALID_ARGUMENT;
}

qtsa_status capi_refuse_in_callback(void) {
    static const char words[] = "called in a callback: the call that it came from must return first";
    capi_set_error(words, sizeof words - 1);
    return QTSA_ERR_INVALID_STATE;
}

const char *qtsa_last_error(void) {
    if (capi_forked) return in_child;
    const struct message *m = message_key_made ? pthread_getspecific(message_key) : NULL;
    return m ? m->text : "";
}

int32_t qtsa_version(void) { return QTSA_VERSION; }
