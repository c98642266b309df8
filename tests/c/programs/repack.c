/*
 * Quantised weights of products on a CPU: rearranged for the processor once for all
 * sessions, named in the placement, right against float64; or never, where the host says
 * so. Prints the layout, or "none" where the processor has none for the type.
 */
#include <math.h>

#include "check.h"

enum { N_OUT = 72, N_IN = 96, ROWS = 13, BLOCKS = N_IN / 32, BLOCK_BYTES = 18 };

static unsigned char weight[N_OUT][BLOCKS][BLOCK_BYTES];
static float x[ROWS][N_IN], y[ROWS][N_OUT];

/* Blocks of q4_0: a scale in f16, of which all are 1/8 or 1/4, and 32 levels around 8. */
static void fill(void) {
    unsigned seed = 1;
    int o, b, i;
    for (o = 0; o < N_OUT; o++)
        for (b = 0; b < BLOCKS; b++) {
            weight[o][b][0] = 0;
            weight[o][b][1] = (unsigned char)(o % 2 ? 0x30 : 0x34);
            for (i = 2; i < BLOCK_BYTES; i++) weight[o][b][i] = (unsigned char)((seed = seed * 69069 + 1) >> 24);
        }
    for (o = 0; o < ROWS; o++)
        for (i = 0; i < N_IN; i++) x[o][i] = (float)((int)((seed = seed * 69069 + 1) >> 24) - 128) / 64;
}

static double value(int o, int i) {
    const unsigned char *block = weight[o][i / 32];
    const int at = i % 32, level = at < 16 ? block[2 + at] & 15 : block[2 + at - 16] >> 4;
    return (level - 8) * (o % 2 ? 0.125 : 0.25);
}

/* ggml takes x in 8-bit levels, of which 127 are the largest of 32 elements. */
static void check_values(void) {
    int row, o, i;
    for (row = 0; row < ROWS; row++)
        for (o = 0; o < N_OUT; o++) {
            double want = 0, may = 1e-3;
            for (i = 0; i < N_IN; i++) {
                want += x[row][i] * value(o, i);
                may += fabs(value(o, i)) * (2.0 / 127 / 2 + 2.0 / 2048);
            }
            CHECK(fabs(y[row][o] - want) <= may);
        }
}

static void run(qtsa_backend backend, qtsa_weights weights, char *placement, size_t capacity) {
    const int64_t shape[] = {ROWS, N_IN};
    const qtsa_input in = {x, sizeof x};
    const qtsa_output out = {y, sizeof y};
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor factors[2], product;
    size_t size;
    OK(qtsa_graph_create("product", &graph));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 2, &factors[0]));
    OK(qtsa_graph_weight(graph, weights, "w", &factors[1]));
    OK(qtsa_graph_op(graph, "linear", factors, 2, NULL, 0, &product, 1));
    OK(qtsa_graph_output(graph, "y", product));
    OK(qtsa_session_create(backend, &session));
    OK(qtsa_plan_create(session, graph, NULL, &plan));
    memset(y, 0, sizeof y);
    OK(qtsa_plan_run(plan, &in, 1, &out, 1, NULL));
    check_values();
    OK(qtsa_plan_placement_copy(plan, QTSA_FORMAT_TEXT, placement, capacity, &size));
    OK(qtsa_plan_free(plan));
    OK(qtsa_session_free(session));
    OK(qtsa_graph_free(graph));
}

int main(void) {
    const int64_t shape[] = {N_OUT, N_IN};
    const char *named;
    char text[4096], again[4096];
    uint64_t bytes, bytes_again;
    qtsa_backend backend;
    qtsa_backend_options o;
    qtsa_weights weights;

    fill();
    OK(qtsa_weights_create(&weights));
    OK(add_declared(weights, "w", QTSA_DTYPE_Q4_0, shape, 2));
    OK(set_dense(weights, "w", weight, sizeof weight));

    o = qtsa_backend_options_init();
    CHECK(o.repack == QTSA_REPACK_AUTO);
    o.repack = 2;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &backend), "repack", "2");
    o.repack = QTSA_REPACK_NEVER;
    OK(qtsa_backend_create(&o, &backend));
    run(backend, weights, text, sizeof text);
    CHECK(strstr(text, "rearranged") == NULL);
    OK(qtsa_weights_device_bytes(weights, backend, &bytes));
    CHECK(bytes == 0);
    OK(qtsa_backend_free(backend));

    OK(qtsa_backend_create(NULL, &backend));
    run(backend, weights, text, sizeof text);
    OK(qtsa_weights_device_bytes(weights, backend, &bytes));
    run(backend, weights, again, sizeof again);
    OK(qtsa_weights_device_bytes(weights, backend, &bytes_again));
    CHECK(strcmp(text, again) == 0 && bytes == bytes_again);
    named = strstr(text, "weight \"w\", q4_0, repacked as ");
    CHECK((named != NULL) == (bytes >= sizeof weight) && (named != NULL || bytes == 0));
    printf("%s\n", named == NULL ? "none" : named);
    OK(qtsa_backend_free(backend));

    /* Where there is no room for a copy, products do without. */
    o = qtsa_backend_options_init();
    o.weights_budget_bytes = sizeof weight - 1;
    OK(qtsa_backend_create(&o, &backend));
    run(backend, weights, text, sizeof text);
    CHECK(strstr(text, "rearranged") == NULL);
    OK(qtsa_weights_device_bytes(weights, backend, &bytes));
    CHECK(bytes == 0);
    OK(qtsa_backend_free(backend));
    OK(qtsa_weights_free(weights));
    return 0;
}
