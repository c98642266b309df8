/*
 * Calls in a process that has no more than a few descriptors free: each is OK or a
 * status that says so, and with descriptors again it works. One call in a process, as
 * the first there is. usage: few_descriptors CALL FREE FOLDER
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model.h"

static const char *call, *path;

static qtsa_status do_call(void) {
    qtsa_backend b;
    qtsa_weights w;
    qtsa_status s;
    size_t n;
    if (strcmp(call, "count") == 0) return qtsa_devices_list(NULL, NULL, 0, &n);
    if (strcmp(call, "backend") == 0) {
        if ((s = qtsa_backend_create(NULL, &b)) == QTSA_OK) OK(qtsa_backend_free(b));
        return s;
    }
    if (strcmp(call, "open") == 0) {
        if ((s = qtsa_weights_open(path, NULL, &w)) == QTSA_OK) OK(qtsa_weights_free(w));
        return s;
    }
    CHECK(strcmp(call, "save") == 0);
    w = model_weights();
    s = qtsa_weights_save(w, path, NULL, 0, NULL, NULL);
    OK(qtsa_weights_free(w));
    return s;
}

int main(int argc, char **argv) {
    static char name[4096];
    struct rlimit limit;
    int i, left, open_ones[64], n = 0;
    qtsa_status s;
    CHECK(argc == 4);
    call = argv[1];
    left = atoi(argv[2]);
    snprintf(name, sizeof name, "%s/few.gguf", argv[3]);
    path = name;
    if (strcmp(call, "prepare") == 0) {
        call = "save";
        OK(do_call());
        return 0;
    }
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max = 60; /* Go raises what can be raised */
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while ((i = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) open_ones[n++] = i;
    while (left-- > 0) close(open_ones[--n]);
    s = do_call();
    if (s != QTSA_OK) {
        CHECK(s == QTSA_ERR_IO || s == QTSA_ERR_DEVICE_UNAVAILABLE);
        CHECK(strstr(qtsa_last_error(), "oo many open files") != NULL);
    }
    while (n > 0) close(open_ones[--n]);
    OK(do_call());
    printf("%s\n", qtsa_status_name(s));
    return 0;
}
