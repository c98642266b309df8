/* A small model that the test programs run, and the values that it must give. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "check.h"

/* y[2, 3] = relu(x[2, 4] weight[3, 4]^T + bias[3]); a few of the sums are below 0. */
static const float model_weight[3][4] = {{1, 2, 3, 4}, {-1, 0.5f, 0, 2}, {0.25f, -3, 1, -1}};
static const float model_bias[3] = {0.5f, -1, 2};
static const float model_x[2][4] = {{1, -2, 3, 0.5f}, {0, 1, -1, 2}};

typedef struct model {
    qtsa_backend backend;
    qtsa_weights weights;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
} model;

/* Weights "weight" and "bias" with their data. */
static inline qtsa_weights model_weights(void) {
    const int64_t weight_shape[] = {3, 4}, bias_shape[] = {3};
    qtsa_weights w;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, "weight", QTSA_DTYPE_F32, weight_shape, 2));
    OK(add_declared(w, "bias", QTSA_DTYPE_F32, bias_shape, 1));
    OK(set_dense(w, "weight", model_weight, sizeof model_weight));
    OK(set_dense(w, "bias", model_bias, sizeof model_bias));
    return w;
}

static inline qtsa_graph model_graph(qtsa_weights w) {
    const int64_t x_shape[] = {2, 4};
    qtsa_graph g;
    qtsa_tensor in[3], sum, y;
    OK(qtsa_graph_create("model", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, x_shape, 2, &in[0]));
    OK(qtsa_graph_weight(g, w, "weight", &in[1]));
    OK(qtsa_graph_weight(g, w, "bias", &in[2]));
    OK(qtsa_graph_op(g, "linear", in, 3, NULL, 0, &sum, 1));
    OK(qtsa_graph_op(g, "relu", &sum, 1, NULL, 0, &y, 1));
    OK(qtsa_graph_output(g, "y", y));
    return g;
}

/* The whole model on a backend of the environment's choice. One thread: on a busy
 * machine more wait for each other. */
static inline void model_open(model *m) {
    qtsa_backend_options o = qtsa_backend_options_init();
    o.threads = 1;
    OK(qtsa_backend_create(&o, &m->backend));
    m->weights = model_weights();
    m->graph = model_graph(m->weights);
    OK(qtsa_session_create(m->backend, &m->session));
    OK(qtsa_plan_create(m->session, m->graph, NULL, &m->plan));
}

static inline void model_free(const model *m) {
    OK(qtsa_plan_free(m->plan));
    OK(qtsa_session_free(m->session));
    OK(qtsa_graph_free(m->graph));
    OK(qtsa_weights_free(m->weights));
    OK(qtsa_backend_free(m->backend));
}

/* Whether y is the model's answer to scale times model_x. */
static inline int model_right(const float y[2][3], float scale) {
    int i, j, k;
    for (i = 0; i < 2; i++)
        for (j = 0; j < 3; j++) {
            double want = model_bias[j], difference;
            for (k = 0; k < 4; k++) want += (double)scale * model_x[i][k] * model_weight[j][k];
            if (want < 0) want = 0;
            difference = y[i][j] - want;
            if (!(difference < 1e-4 && difference > -1e-4)) {
                fprintf(stderr, "y[%d][%d] is %g, want %g\n", i, j, y[i][j], want);
                return 0;
            }
        }
    return 1;
}

/* A run of the plan on scale times model_x. */
static inline qtsa_status model_run(qtsa_plan plan, float scale, float y[2][3]) {
    float x[2][4];
    qtsa_input in;
    qtsa_output out;
    int i, k;
    for (i = 0; i < 2; i++)
        for (k = 0; k < 4; k++) x[i][k] = scale * model_x[i][k];
    in.data = x;
    in.bytes = sizeof x;
    out.data = y;
    out.bytes = sizeof(float[2][3]);
    return qtsa_plan_run(plan, &in, 1, &out, 1, NULL);
}

#define MODEL_RUNS(plan)                              \
    do {                                              \
        float y_[2][3] = {{0, 0, 0}, {0, 0, 0}};      \
        OK(model_run((plan), 1, y_));                 \
        CHECK(model_right((const float(*)[3])y_, 1)); \
    } while (0)

#endif
