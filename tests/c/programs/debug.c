/*
 * With debug on, the choice, the graphs and the runs are told: to the callback, or
 * to stderr where there is none (the argument "stderr"). By the option, or by the
 * variable, set after the library was loaded (the argument "variable").
 */
#define _POSIX_C_SOURCE 200809L
#include "model.h"

static char told[1 << 16];

static void on_line(int32_t level, const char *text, void *user) {
    (void)user;
    if (level != QTSA_LOG_DEBUG || strlen(told) + strlen(text) + 2 > sizeof told) return;
    strcat(told, text);
    strcat(told, "\n");
}

int main(int argc, char **argv) {
    const int to_stderr = argc > 1 && !strcmp(argv[1], "stderr"), variable = argc > 1 && !strcmp(argv[1], "variable");
    model m;
    qtsa_backend_options o = qtsa_backend_options_init();
    CHECK(o.debug == 0);
    if (variable) {
        static const char *const no[] = {"", "0", " Off ", "false", "NO"};
        size_t i;
        OK(qtsa_set_log_callback(on_line, NULL));
        for (i = 0; i < sizeof no / sizeof *no; i++) {
            CHECK(!setenv("QTSACCEL_DEBUG_BACKEND", no[i], 1));
            OK(qtsa_backend_create(&o, &m.backend));
            OK(qtsa_backend_free(m.backend));
            CHECK(strstr(told, "requested: ") == NULL); /* ggml's own lines come all the same */
        }
        CHECK(!setenv("QTSACCEL_DEBUG_BACKEND", "on", 1));
    } else {
        o.debug = 1;
    }
    if (!to_stderr) OK(qtsa_set_log_callback(on_line, NULL));
    OK(qtsa_backend_create(&o, &m.backend));
    m.weights = model_weights();
    m.graph = model_graph(m.weights);
    OK(qtsa_session_create(m.backend, &m.session));
    OK(qtsa_plan_create(m.session, m.graph, NULL, &m.plan));
    MODEL_RUNS(m.plan);
    model_free(&m);
    if (!to_stderr) {
        for (const char *const *w =
                 (const char *const[]){"requested: ", ": taken", "threads: ", "graph \"model\": 2 nodes, 2 on ",
                                       "upload ", "compute ", "download ", NULL};
             *w != NULL; w++) {
            if (strstr(told, *w) != NULL) continue;
            fprintf(stderr, "\"%s\" was not told, but:\n%s", *w, told);
            return 1;
        }
        OK(qtsa_set_log_callback(NULL, NULL));
    }
    printf("ok\n");
    return 0;
}
