/*
 * What a GPU does not compute goes to the CPU beside it: right values, named in the
 * placement with the copies that it costs, and refused where the plan is strict.
 */
#include "model.h"

static qtsa_tensor op(qtsa_graph g, const char *name, qtsa_tensor x) {
    qtsa_tensor y;
    OK(qtsa_graph_op(g, name, &x, 1, NULL, 0, &y, 1));
    return y;
}

int main(void) {
    const int64_t shape[] = {2, 3};
    const float x[2][3] = {{1, -5, 2}, {7, 7, 0}};
    int32_t best[2];
    float squares[2][3];
    char text[4096];
    size_t size;
    qtsa_backend backend;
    qtsa_graph g;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor in, squared;
    qtsa_plan_options strict;

    OK(qtsa_backend_create(NULL, &backend));
    OK(qtsa_graph_create("mixed", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &in));
    squared = op(g, "square", in);
    OK(qtsa_graph_output(g, "best", op(g, "argmax", squared)));
    OK(qtsa_graph_output(g, "squares", op(g, "neg", squared)));
    OK(qtsa_session_create(backend, &session));

    strict = qtsa_plan_options_init();
    CHECK(strict.strict == 0);
    strict.strict = 1;
    REFUSED(QTSA_ERR_UNSUPPORTED, qtsa_plan_create(session, g, &strict, &plan), "mixed", "argmax (1)");

    OK(qtsa_plan_create(session, g, NULL, &plan));
    {
        const qtsa_input inputs[] = {{x, sizeof x}};
        const qtsa_output outputs[] = {{best, sizeof best}, {squares, sizeof squares}};
        int run, i, k;
        for (run = 0; run < 3; run++) {
            memset(best, -1, sizeof best);
            OK(qtsa_plan_run(plan, inputs, 1, outputs, 2, NULL));
            CHECK(best[0] == 1 && best[1] == 0); /* the first of equals */
            for (i = 0; i < 2; i++)
                for (k = 0; k < 3; k++) CHECK(squares[i][k] == -x[i][k] * x[i][k]);
        }
    }
    OK(qtsa_plan_placement_copy(plan, QTSA_FORMAT_TEXT, text, sizeof text, &size));
    CHECK(strstr(text, "argmax on cpu") != NULL);
    CHECK(strstr(text, "1 copies between devices, 24 bytes") != NULL);
    OK(qtsa_plan_placement_copy(plan, QTSA_FORMAT_JSON, text, sizeof text, &size));
    CHECK(strstr(text, "\"copies\"") != NULL);

    OK(qtsa_plan_free(plan));
    OK(qtsa_session_free(session));
    OK(qtsa_graph_free(g));
    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
