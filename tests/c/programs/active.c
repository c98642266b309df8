/*
 * The process's default backend is decided once, by whichever thread comes first.
 * With an argument it is decided that there is none.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "model.h"

enum { THREADS = 8 };

static qtsa_backend candidates[THREADS];
static qtsa_status outcome[THREADS];
static pthread_barrier_t start;

static void *install(void *arg) {
    const size_t i = (size_t)(uintptr_t)arg;
    pthread_barrier_wait(&start);
    outcome[i] = qtsa_backend_install(candidates[i]);
    if (outcome[i] == QTSA_OK) {
        qtsa_backend active;
        OK(qtsa_backend_get_active(&active));
        CHECK(active != NULL);
    } else {
        REFUSED(QTSA_ERR_ALREADY_EXISTS, outcome[i], "has settled on");
    }
    return NULL;
}

static void decide_for_none(void) {
    qtsa_backend active = (qtsa_backend)(uintptr_t)1, b;
    OK(qtsa_backend_install(NULL));
    OK(qtsa_backend_install(NULL));
    OK(qtsa_backend_get_active(&active));
    CHECK(active == NULL);
    OK(qtsa_backend_create(NULL, &b));
    REFUSED(QTSA_ERR_ALREADY_EXISTS, qtsa_backend_install(b), "no backend");
    OK(qtsa_backend_free(b));
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    qtsa_backend active, again;
    qtsa_session session;
    int winners = 0, winner = -1;

    REFUSED(QTSA_ERR_NOT_FOUND, qtsa_backend_get_active(&active), "no backend was installed");
    CHECK(active == NULL);
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_backend_install((qtsa_backend)(uintptr_t)12345), "handle");
    if (argc > 1) {
        decide_for_none();
        printf("%s: ok\n", argv[1]);
        return 0;
    }

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) OK(qtsa_backend_create(NULL, &candidates[i]));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, install, (void *)(uintptr_t)i));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (outcome[i] != QTSA_OK) continue;
        winners++;
        winner = i;
    }
    CHECK(winners == 1);
    OK(qtsa_backend_install(candidates[winner]));
    OK(qtsa_backend_get_active(&active));
    OK(qtsa_backend_get_active(&again));
    CHECK(active == again);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_free(active), "qtsa_backend_get_active");

    /* It outlives every handle of the host's. */
    for (int i = 0; i < THREADS; i++) OK(qtsa_backend_free(candidates[i]));
    OK(qtsa_session_create(active, &session));
    OK(qtsa_session_free(session));
    printf("ok\n");
    return 0;
}
