/*
 * Within a callback, of progress, for the log and on release, every function that gives a
 * status gives INVALID_STATE at once, whatever its arguments, and does nothing; those that
 * give none work.
 *
 * usage: callbacks FOLDER
 */
#include "every_function.h"
#include "hooks.h"
#include "model.h"

static model m;
static int progressed, logged, released;

static void refused(qtsa_status status, const char *call) {
    if (status != QTSA_ERR_INVALID_STATE) fprintf(stderr, "%s in a callback gave %s\n", call, qtsa_status_name(status));
    CHECK(status == QTSA_ERR_INVALID_STATE);
    CHECK(strstr(qtsa_last_error(), "in a callback") != NULL);
}

static void all_refused(void) {
    every_function(&m, refused);
    CHECK(strcmp(qtsa_status_name(QTSA_ERR_INVALID_STATE), "INVALID_STATE") == 0);
    CHECK(strcmp(qtsa_dtype_name(QTSA_DTYPE_F16), "f16") == 0);
    CHECK(qtsa_version() == QTSA_VERSION);
}

static int32_t on_progress(uint64_t done, uint64_t total, void *user) {
    CHECK(user == &m && done <= total);
    all_refused();
    progressed++;
    return 0;
}

static void on_line(int32_t level, const char *text, void *user) {
    CHECK(user == &m && level > 0 && text[0] != 0);
    all_refused();
    logged++;
}

static void on_release(void *user) {
    CHECK(user == &m);
    all_refused();
    released++;
}

int main(int argc, char **argv) {
    static float lent[8] __attribute__((aligned(32)));
    const int64_t shape[] = {8};
    char path[4096];
    qtsa_array array;
    qtsa_weights w;
    qtsa_weights_options open = qtsa_weights_options_init();
    qtsa_upload_options upload = qtsa_upload_options_init();
    int before;
    CHECK(argc == 2);
    model_open(&m);

    snprintf(path, sizeof path, "%s/callbacks.gguf", argv[1]);
    OK(qtsa_weights_save(m.weights, path, NULL, 0, on_progress, &m));
    CHECK(progressed > 0);
    before = progressed;
    open.placement = QTSA_PLACEMENT_COPIED;
    open.progress = on_progress;
    open.user = &m;
    OK(qtsa_weights_open(path, &open, &w));
    CHECK(progressed > before);
    before = progressed;
    upload.progress = on_progress;
    upload.user = &m;
    OK(qtsa_weights_upload(w, m.backend, &upload));
    CHECK(progressed > before);
    OK(qtsa_weights_free(w));

    OK(qtsa_set_log_callback(on_line, &m));
    qtsa_test_log(QTSA_LOG_WARN);
    OK(qtsa_set_log_callback(NULL, NULL));
    CHECK(logged == 1);

    /* When the weights go, and at once where the array is copied. */
    array = qtsa_array_dense(QTSA_DTYPE_F32, shape, 1, lent, sizeof lent);
    array.release = on_release;
    array.user = &m;
    OK(qtsa_weights_create(&w));
    OK(qtsa_weights_add(w, "lent", &array));
    CHECK(released == 0);
    OK(qtsa_weights_free(w));
    CHECK(released == 1);
    array.data = lent + 1;
    array.bytes = (array.shape[0] = 7) * sizeof *lent;
    OK(qtsa_weights_create(&w));
    OK(qtsa_weights_add(w, "copied", &array));
    CHECK(released == 2);
    OK(qtsa_weights_set(w, "copied", &array));
    CHECK(released == 3);
    OK(qtsa_weights_free(w));

    MODEL_RUNS(m.plan); /* nothing has come of it all */
    model_free(&m);
    CHECK(qtsa_test_objects() == 0);
    printf("ok\n");
    return 0;
}
