/*
 * The library's log, and ggml's, goes to the host's callback and nowhere else:
 * what this program prints is its own.
 */
#include "hooks.h"
#include "model.h"

static int lines, others;

/* user may be any value, an address or not. */
static void *const mark = (void *)(uintptr_t)7;

static void on_line(int32_t level, const char *text, void *user) {
    CHECK(level >= QTSA_LOG_DEBUG && level <= QTSA_LOG_ERROR);
    CHECK(user == mark);
    CHECK(text[0] != 0 && strchr(text, '\n') == NULL);
    if (strcmp(text, "a line of the library's own") == 0)
        lines++;
    else
        others++;
}

int main(void) {
    model m;
    qtsa_test_log(QTSA_LOG_WARN); /* nobody listens */
    OK(qtsa_set_log_callback(on_line, mark));
    model_open(&m);
    MODEL_RUNS(m.plan);
    qtsa_test_log(QTSA_LOG_WARN);
    CHECK(lines == 1);
    OK(qtsa_set_log_callback(NULL, NULL));
    qtsa_test_log(QTSA_LOG_ERROR);
    CHECK(lines == 1);
    model_free(&m);
    printf("%d lines of others\nok\n", others);
    return 0;
}
