/*
 * Values that are never allowed, and sizes for which there is no memory: each gives its
 * status and a message with the numbers, at once, and after it right calls give right
 * values.
 *
 * usage: QTSACCEL_BACKEND=name extremes
 */
#include <math.h>
#include <sys/resource.h>

#include "check.h"

static qtsa_backend backend;
static qtsa_session session;
static int on_gpu;

/* y = rms_norm(x) of [3, 4] on the session, and the same as a call. */
static void all_is_well(void) {
    const int64_t shape[] = {1, 2};
    const float x[] = {3, -4};
    float y[2] = {0, 0}, z[2] = {0, 0};
    qtsa_graph graph;
    qtsa_plan plan;
    qtsa_tensor in, out;
    qtsa_operand from, to;
    OK(qtsa_graph_create("well", &graph));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 2, &in));
    OK(qtsa_graph_op(graph, "rms_norm", &in, 1, NULL, 0, &out, 1));
    OK(qtsa_graph_output(graph, "y", out));
    OK(qtsa_plan_create(session, graph, NULL, &plan));
    OK(qtsa_plan_run(plan, &(qtsa_input){x, sizeof x}, 1, &(qtsa_output){y, sizeof y}, 1, NULL));
    CHECK(fabsf(y[0] - 0.848528f) < 1e-5f && fabsf(y[1] + 1.131371f) < 1e-5f);
    SIZED(from);
    from.dtype = QTSA_DTYPE_F32;
    from.rank = 2;
    from.shape[0] = 1;
    from.shape[1] = 2;
    to = from;
    from.data = (void *)x;
    to.data = z;
    OK(qtsa_op_run(backend, "rms_norm", &from, 1, NULL, 0, &to, 1, 0));
    CHECK(memcmp(y, z, sizeof y) == 0);
    OK(qtsa_plan_free(plan));
    OK(qtsa_graph_free(graph));
}

#define WRONG(code, call, ...)            \
    do {                                  \
        REFUSED(code, call, __VA_ARGS__); \
        all_is_well();                    \
    } while (0)

/* An attribute with a value that it may not have, in a graph and in a call. */
static void refused(const char *op, qtsa_attr wrong, qtsa_attr other, const char *word) {
    const int64_t shape[] = {2, 4};
    const qtsa_attr attrs[] = {wrong, other};
    const size_t n = other.name != NULL ? 2 : 1;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    qtsa_graph graph;
    qtsa_tensor in, out;
    qtsa_operand from, to;
    OK(qtsa_graph_create("refused", &graph));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 2, &in));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(graph, op, &in, 1, attrs, n, &out, 1), op, word);
    OK(qtsa_graph_free(graph));
    SIZED(from);
    from.dtype = QTSA_DTYPE_F32;
    from.rank = 2;
    from.shape[0] = 2;
    from.shape[1] = 4;
    to = from;
    from.data = x;
    to.data = y;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, op, &from, 1, attrs, n, &to, 1, 0), op, word);
}

static void attributes(void) {
    const qtsa_attr none = {NULL, 0, 0, 0, 0, NULL, NULL, NULL}, groups = qtsa_attr_int("groups", 2);
    const int64_t negative[] = {0, -1, 0, 0};
    const double wrong[] = {-1, -1e-30, NAN, INFINITY, -INFINITY, 1e39};
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused("rms_norm", qtsa_attr_float("eps", wrong[i]), none, "eps is");
        refused("layer_norm", qtsa_attr_float("eps", wrong[i]), none, "eps is");
        refused("group_norm", qtsa_attr_float("eps", wrong[i]), groups, "eps is");
    }
    refused("rms_norm", qtsa_attr_int("eps", -1), none, "eps is -1, want 0 or more");
    refused("group_norm", qtsa_attr_int("groups", 0), none, "groups is 0, want 1 to 2147483647");
    refused("leaky_relu", qtsa_attr_float("negative_slope", NAN), none, "negative_slope is NaN");
    refused("elu", qtsa_attr_float("alpha", INFINITY), none, "alpha is +Inf");
    refused("clamp", qtsa_attr_float("min", NAN), qtsa_attr_float("max", 1), "min is NaN");
    refused("pad", qtsa_attr_ints("pads", negative, 4), none, "value 1 is -1, want 0 to");
    refused("gelu", qtsa_attr_string("approximate", "erf"), none, "\"erf\"");
    refused("softmax", qtsa_attr_int("axis", 1 << 30), none, "axis is 1073741824, want -4 to 3");
    refused("argmax", qtsa_attr_int("axis", INT64_MAX), none, "axis is 9223372036854775807");
}

static void typed_calls(void) {
    const float ones[4] = {1, 1, 1, 1};
    const double eps[] = {-1, NAN, INFINITY};
    float y[4];
    qtsa_matrix_desc d;
    qtsa_matrix m;
    qtsa_product job;
    qtsa_conv2d_geometry g = {sizeof g, 2, 2, 1, 1, 1, 2, 2};
    qtsa_conv2d_norm norm = {sizeof norm, QTSA_NORM_LAYER, 0, 0, 0, NULL, NULL};
    size_t i;
    d = qtsa_matrix_desc_init();
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = d.shape[1] = 1;
    d.data = ones;
    d.bytes = 4;
    OK(qtsa_matrix_create(backend, &d, &m));
    SIZED(job);
    job.weight = m;
    job.y = y;
    job.n_out = 1;
    for (i = 0; i < sizeof eps / sizeof *eps; i++) {
        norm.eps = eps[i];
        WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, ones, &g, &norm, &job, 0), "eps is");
    }
    g.stride = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, ones, &g, NULL, &job, 0), "stride is 0");
    g.stride = INT64_MAX;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, ones, &g, NULL, &job, 0), "stride is");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, ones, INT64_MAX, 1, &job, 1, 0), "overflows");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, ones, ones, ones, 1, 1, 1, 1, 1, 0, 0, NAN, y, 0), "scale");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, ones, ones, ones, 1, 1, 1, 1, 1, 0, 0, 1e300, y, 0),
          "scale");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, ones, ones, ones, INT64_MAX, 1, 1, 1, 1, 0, 0, 0, y, 0),
          "overflows");
    OK(qtsa_matrix_free(m));
}

static void thresholds(void) {
    const double wrong[] = {INFINITY, -INFINITY, NAN, -1};
    char text[1 << 14];
    size_t i, size;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        WRONG(QTSA_ERR_INVALID_ARGUMENT, set_threshold(backend, "matmul", wrong[i], 0), "matmul");
        WRONG(QTSA_ERR_INVALID_ARGUMENT, set_threshold(backend, "matmul", 0, wrong[i]), "matmul");
    }
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, 0, text, sizeof text, &size));
}

/* Operator calls whose results no memory holds. */
static void calls_too_large(void) {
    const int64_t n = INT64_C(1) << 40, queries = 2000000;
    const qtsa_attr count = qtsa_attr_int("count", n);
    float y[4];
    float *states = calloc((size_t)queries, sizeof *states), *out = calloc((size_t)queries, sizeof *out);
    qtsa_operand to;
    qtsa_status status;
    CHECK(states != NULL && out != NULL);
    SIZED(to);
    to.dtype = QTSA_DTYPE_F32;
    to.rank = 1;
    to.shape[0] = n;
    to.data = y;
    WRONG(QTSA_ERR_OUT_OF_MEMORY, qtsa_op_run(backend, "arange", NULL, 0, &count, 1, &to, 1, 0), "bytes");
    states[7] = INFINITY;
    status = attention_of(backend, states, states, states, queries, queries, 1, 1, 1, 0, 0, 0, out, 0);
    /* A GPU may have no kernel for tensors of such a size. */
    if (status != QTSA_ERR_UNSUPPORTED || !on_gpu) REFUSED(QTSA_ERR_OUT_OF_MEMORY, status, "bytes");
    all_is_well();
    free(states);
    free(out);
}

/* A graph over a dimension from 1 to 2^40, y = x backwards, and one constant of its size. */
static void dimension_too_large(void) {
    const int64_t most = INT64_C(1) << 40, four = 4;
    const float x[] = {1, 2, 3, 4};
    float y[4], r[4];
    int64_t n;
    qtsa_graph graph;
    qtsa_plan plan;
    qtsa_tensor in, back, range;
    qtsa_run_options options;
    OK(qtsa_graph_create("wide", &graph));
    OK(qtsa_graph_dim(graph, "n", 1, most, &n));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, &n, 1, &in));
    OK(qtsa_graph_op(graph, "slice", &in, 1,
                     (qtsa_attr[]){qtsa_attr_int("axis", 0), qtsa_attr_int("start", -1),
                                   qtsa_attr_int("end", INT64_MIN), qtsa_attr_int("step", -1)},
                     4, &back, 1));
    OK(qtsa_graph_op(graph, "arange", NULL, 0, (qtsa_attr[]){qtsa_attr_int("count", n)}, 1, &range, 1));
    OK(qtsa_graph_output(graph, "y", back));
    OK(qtsa_graph_output(graph, "r", range));
    OK(qtsa_plan_create(session, graph, NULL, &plan));
    options = qtsa_run_options_init();
    options.dims = &four;
    options.n_dims = 1;
    OK(qtsa_plan_run(plan, &(qtsa_input){x, sizeof x}, 1, (qtsa_output[]){{y, sizeof y}, {r, sizeof r}}, 2, &options));
    CHECK(y[0] == 4 && y[1] == 3 && y[2] == 2 && y[3] == 1);
    CHECK(r[0] == 0 && r[3] == 3);
    WRONG(QTSA_ERR_OUT_OF_MEMORY, qtsa_plan_prepare(plan, &most, 1), "bytes");
    OK(qtsa_plan_run(plan, &(qtsa_input){x, sizeof x}, 1, (qtsa_output[]){{y, sizeof y}, {r, sizeof r}}, 2, &options));
    CHECK(y[0] == 4 && r[3] == 3);
    OK(qtsa_plan_free(plan));
    OK(qtsa_graph_free(graph));
}

int main(void) {
    struct rusage used;
    const char *name = getenv("QTSACCEL_BACKEND");
    on_gpu = name != NULL && strcmp(name, "cpu") != 0 && strcmp(name, "reference") != 0;
    OK(qtsa_backend_create(NULL, &backend));
    OK(qtsa_session_create(backend, &session));
    all_is_well();
    attributes();
    typed_calls();
    thresholds();
    calls_too_large();
    dimension_too_large();
    OK(qtsa_session_free(session));
    OK(qtsa_backend_free(backend));
    /* Nothing of all that was ever in memory. */
    CHECK(getrusage(RUSAGE_SELF, &used) == 0);
    CHECK(used.ru_maxrss < 1 << 20); /* KiB */
    return 0;
}
