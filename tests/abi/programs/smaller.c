/*
 * Options structs that are no larger than when they came, as a program has them that was
 * compiled then: what follows them in memory is none of the library's business.
 */
#include "../../c/programs/model.h"

/* A struct of which only the first bytes count, with the rest full of ones. */
#define SMALLER(o, first)                              \
    do {                                               \
        memset(&(o), 0xff, sizeof(o));                 \
        memset(&(o), 0, (first));                      \
        (o).struct_size = (first);                     \
        CHECK(full_of_ones(&(o), (first), sizeof(o))); \
    } while (0)

static int full_of_ones(const void *p, size_t from, size_t to) {
    for (; from < to; from++)
        if (((const unsigned char *)p)[from] != 0xff) return 0;
    return 1;
}

int main(int argc, char **argv) {
    model m;
    qtsa_backend_options backend_options;
    qtsa_weights_options weights_options;
    qtsa_plan_options plan_options;
    qtsa_run_options run_options;
    qtsa_matrix_desc desc;
    qtsa_backend backend;
    qtsa_weights weights;
    qtsa_plan plan;
    qtsa_matrix matrix;
    qtsa_product job;
    float y[2][3];
    size_t n, keys;
    qtsa_input in = {model_x, sizeof model_x};
    qtsa_output out = {y, sizeof y};

    model_open(&m);
    SMALLER(backend_options, 32);
    OK(qtsa_backend_create(&backend_options, &backend));
    OK(qtsa_backend_free(backend));

    SMALLER(plan_options, 16);
    OK(qtsa_plan_create(m.session, m.graph, &plan_options, &plan));
    SMALLER(run_options, 40);
    OK(qtsa_plan_run(plan, &in, 1, &out, 1, &run_options));
    CHECK(model_right((const float(*)[3])y, 1));
    OK(qtsa_plan_free(plan));

    CHECK(argc == 2);
    OK(qtsa_weights_save(m.weights, argv[1], NULL, 0, NULL, NULL));
    SMALLER(weights_options, 8);
    OK(qtsa_weights_open(argv[1], &weights_options, &weights));
    OK(qtsa_weights_count(weights, &n, &keys));
    CHECK(n == 2);
    OK(qtsa_weights_free(weights));

    SMALLER(desc, 80);
    desc.dtype = QTSA_DTYPE_F32;
    desc.rank = 2;
    desc.shape[0] = 3, desc.shape[1] = 4;
    desc.data = model_weight;
    desc.bytes = sizeof model_weight;
    OK(qtsa_matrix_create(m.backend, &desc, &matrix));
    SIZED(job);
    job.weight = matrix;
    job.bias = model_bias;
    job.y = y[0];
    job.n_out = 3;
    job.activation = QTSA_ACTIVATION_RELU;
    OK(qtsa_matmul(m.backend, model_x[0], 2, 4, &job, 1, 0));
    CHECK(model_right((const float(*)[3])y, 1));
    OK(qtsa_matrix_free(matrix));
    model_free(&m);
    printf("ok\n");
    return 0;
}
