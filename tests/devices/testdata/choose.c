/*
 * Creates a backend as the environment says, which it sets itself after the library
 * was loaded, and tells what came of it: "STATUS\n" and the message or the report.
 * A backend that it gets must compute rightly.
 *
 * usage: choose NAME=VALUE...
 */
#define _POSIX_C_SOURCE 200809L

#include "../../c/programs/model.h"

int main(int argc, char **argv) {
    static char report[65536];
    qtsa_backend backend = NULL;
    qtsa_status status;
    model m;
    size_t n;
    int i;
    OK(qtsa_tensor_bytes(QTSA_DTYPE_F32, NULL, 0, &n)); /* the library is in use already */
    for (i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        CHECK(value != NULL);
        *value = 0;
        CHECK(setenv(argv[i], value + 1, 1) == 0);
    }
    status = qtsa_backend_create(NULL, &backend);
    printf("%s\n", qtsa_status_name(status));
    if (status != QTSA_OK) {
        CHECK(backend == NULL);
        printf("%s\n", qtsa_last_error());
        return 0;
    }
    OK(qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, report, sizeof report, &n));
    printf("%s", report);
    OK(qtsa_backend_free(backend));
    model_open(&m);
    MODEL_RUNS(m.plan);
    model_free(&m);
    return 0;
}
