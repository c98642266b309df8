/*
 * Wrong calls of every kind, in one process. Each gives its status and a message
 * that names the operator, tensor or file and the numbers, and after each the model
 * still gives right values: on the plan from the start, and on one made anew.
 *
 * usage: bad_input FOLDER [GGUF-FILE]   FOLDER may be written to
 */
#include <limits.h>

#include "model.h"

static model good;

/* What must still hold after every wrong call. */
static void all_is_well(void) {
    model again;
    MODEL_RUNS(good.plan);
    again = good;
    again.weights = model_weights();
    again.graph = model_graph(again.weights);
    OK(qtsa_session_create(again.backend, &again.session));
    OK(qtsa_plan_create(again.session, again.graph, NULL, &again.plan));
    MODEL_RUNS(again.plan);
    OK(qtsa_plan_free(again.plan));
    OK(qtsa_session_free(again.session));
    OK(qtsa_graph_free(again.graph));
    OK(qtsa_weights_free(again.weights));
}

#define WRONG(code, call, ...)            \
    do {                                  \
        REFUSED(code, call, __VA_ARGS__); \
        all_is_well();                    \
    } while (0)

static void names_and_versions(void) {
    CHECK(strcmp(qtsa_status_name(QTSA_OK), "OK") == 0);
    CHECK(strcmp(qtsa_status_name(QTSA_ERR_SHAPE_MISMATCH), "SHAPE_MISMATCH") == 0);
    CHECK(strcmp(qtsa_status_name(1), "UNKNOWN") == 0);
    CHECK(strcmp(qtsa_status_name(INT_MIN), "UNKNOWN") == 0);
    CHECK(strcmp(qtsa_dtype_name(QTSA_DTYPE_Q4_K), "q4_K") == 0);
    CHECK(strcmp(qtsa_dtype_name(QTSA_DTYPE_FOREIGN), "foreign") == 0 && strcmp(qtsa_dtype_name(-1), "invalid") == 0);
    CHECK(qtsa_version() == QTSA_VERSION_MAJOR * 10000 + QTSA_VERSION_MINOR * 100 + QTSA_VERSION_PATCH);
    OK(qtsa_version_require(QTSA_VERSION));
    OK(qtsa_version_require(200));
    CHECK(qtsa_version_require(QTSA_VERSION + 1) == QTSA_ERR_VERSION_MISMATCH);
    CHECK(qtsa_version_require(12345) == QTSA_ERR_VERSION_MISMATCH);
    CHECK(qtsa_version_require(100) == QTSA_ERR_VERSION_MISMATCH); /* there was no 0.1.0 */
    CHECK(qtsa_version_require(0) == QTSA_ERR_INVALID_ARGUMENT);
    CHECK(qtsa_version_require(INT32_MIN) == QTSA_ERR_INVALID_ARGUMENT);
}

static void shapes_and_sizes(void) {
    const int64_t zero[] = {2, 0}, negative[] = {-3, 4}, row_of_100[] = {2, 100}, row_of_64[] = {2, 64};
    const int64_t overflowing[] = {INT64_C(1) << 32, INT64_C(1) << 32}, huge[] = {INT64_MAX, INT64_MAX, 2, 2};
    const int64_t five[] = {1, 2, 3, 4, 5};
    size_t bytes;
    OK(qtsa_tensor_bytes(QTSA_DTYPE_Q4_0, row_of_64, 2, &bytes));
    CHECK(bytes == 2 * 2 * 18);
    OK(qtsa_tensor_bytes(QTSA_DTYPE_F32, NULL, 0, &bytes));
    CHECK(bytes == 4);

    bytes = 7;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, five, 5, &bytes), "rank is 5", "4");
    CHECK(bytes == 0);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, five, -1, &bytes), "rank is -1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, five, INT32_MIN, &bytes), "rank is -2147483648");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, NULL, 2, &bytes), "shape is null", "2");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, zero, 2, &bytes), "dimension 1", "[2, 0]",
          "is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, negative, 2, &bytes), "dimension 0", "is -3");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, overflowing, 2, &bytes),
          "[4294967296, 4294967296]", "2^59");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_I8, huge, 4, &bytes), "9223372036854775807", "2^59");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_Q4_0, row_of_100, 2, &bytes), "100", "q4_0", "32");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_Q4_K, row_of_64, 2, &bytes), "64", "q4_K", "256");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(99, row_of_64, 2, &bytes), "dtype 99");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_tensor_bytes(QTSA_DTYPE_F32, row_of_64, 2, NULL), "out_bytes is null");
}

static void null_parameters(void) {
    const int64_t shape[] = {2, 4};
    qtsa_tensor t = 5;
    size_t size;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(NULL, NULL), "out_backend is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_create(NULL), "out_weights is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_create(NULL, NULL), "out_graph is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_session_create(good.backend, NULL), "out_session is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_create(good.session, good.graph, NULL, NULL), "out_plan is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(good.graph, NULL, QTSA_DTYPE_F32, shape, 2, &t), "name is null");
    CHECK(t == 0);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(good.graph, NULL, NULL, 0, NULL, 0, &t, 1), "op is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(good.graph, "add", NULL, 2, NULL, 0, &t, 1), "add", "inputs is null",
          "2");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(good.graph, "add", &t, SIZE_MAX, NULL, 0, &t, 1), "add", "inputs",
          "18446744073709551615");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(good.graph, "relu", &t, 1, NULL, 1, &t, 1), "relu", "attrs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(good.graph, "relu", &t, 1, NULL, 0, NULL, 1), "relu",
          "outputs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_output(good.graph, "\xff\xfe", 0), "name is not valid UTF-8",
          "\\xff\\xfe");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, NULL, 1, NULL, 0, NULL), "inputs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_report_copy(good.backend, QTSA_FORMAT_TEXT, NULL, 9, &size),
          "buffer is null", "9");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, set_dense(good.weights, "weight", NULL, 48), "weight", "data is null", "48");
}

static void copies(void) {
    char text[4096], small[3];
    size_t need, again;
    OK(qtsa_backend_report_copy(good.backend, QTSA_FORMAT_JSON, NULL, 0, &need));
    CHECK(need > 2 && need <= sizeof text);
    OK(qtsa_backend_report_copy(good.backend, QTSA_FORMAT_JSON, text, need, &again));
    CHECK(again == need && strlen(text) + 1 == need && text[0] == '{');
    memset(small, 'x', sizeof small);
    WRONG(QTSA_ERR_INVALID_ARGUMENT,
          qtsa_backend_report_copy(good.backend, QTSA_FORMAT_JSON, small, sizeof small, &again), "has 3 bytes",
          "are needed");
    CHECK(again == need && small[0] == 'x');
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_report_copy(good.backend, 2, NULL, 0, &need), "format is 2");
    OK(qtsa_plan_placement_copy(good.plan, QTSA_FORMAT_TEXT, NULL, 0, &need));
    CHECK(need > 2);
}

static void backends(void) {
    size_t devices;
    qtsa_backend b = good.backend;
    qtsa_backend_options o = qtsa_backend_options_init();
    CHECK(o.struct_size == sizeof o && o.backend == NULL && o.threads == 0);
    o.backend = "abacus";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "abacus", "cpu", "reference");
    CHECK(b == NULL);
    o.backend = "reference";
    o.threads = -4;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "threads", "-4");
    o.threads = QTSA_MAX_THREADS + 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "threads is 513, want 1 to 512, or 0");
    o.threads = 0;
    o.reserved = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "reserved is 1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(&o, NULL, 0, &devices), "reserved is 1");
    o.reserved = 0;
    o.backend = "cpu";
    o.device = "99";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "device \"99\" (from option)", "has no devices");
    o.backend = "auto";
    o.device = "0000:fe:1f.7";
    WRONG(QTSA_ERR_DEVICE_UNAVAILABLE, qtsa_backend_create(&o, &b), "device \"0000:fe:1f.7\" (from option)",
          "cpu: it has no devices");
    o.backend = NULL;
    o.device = NULL;
    o.struct_size = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "struct_size is 0", "32");
    o.struct_size = 1000000;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_backend_create(&o, &b), "struct_size is 1000000", "72");
    o.struct_size = sizeof o;
    o.weights_budget_bytes = UINT64_MAX;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "weights_budget_bytes is 18446744073709551615");
    o.weights_budget_bytes = 0;
    OK(qtsa_backend_create(&o, &b));
    OK(qtsa_backend_free(b));

    o.probe = "perhaps";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "\"perhaps\" of the probe (from option)");
    o.probe = " OFF ";
    OK(qtsa_backend_create(&o, &b));
    OK(qtsa_backend_free(b));
    o.backend = "auto";
    o.fallback = " , ";
    o.device = "-1"; /* in the part that an older host has not */
    o.struct_size = 32;
    o.backend = "reference";
    o.probe = "what an older host has behind its struct";
    OK(qtsa_backend_create(&o, &b));
    OK(qtsa_backend_free(b));

    o = qtsa_backend_options_init();
    CHECK(o.fallback == NULL && o.device == NULL && o.probe == NULL);
    o.backend = "auto";
    o.fallback = ",,";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "\",,\" (from option) names no backend", "cpu, cuda");
    o.fallback = "reference, auto";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "unknown backend \"auto\" (from option)");
    o.fallback = "Reference,,reference";
    OK(qtsa_backend_create(&o, &b));
    OK(qtsa_backend_free(b));
    o.device = "-1";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "device \"-1\" (from option) is none");
    o.fallback = "\xff";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_create(&o, &b), "fallback is not valid UTF-8");
}

static void struct_sizes(void) {
    qtsa_plan p = good.plan;
    qtsa_weights w = good.weights;
    qtsa_plan_options plan;
    qtsa_run_options run;
    qtsa_weights_options weights;
    qtsa_backend_options backend;
    plan = qtsa_plan_options_init();
    run = qtsa_run_options_init();
    weights = qtsa_weights_options_init();
    backend = qtsa_backend_options_init();
    CHECK(plan.struct_size == sizeof plan && run.struct_size == sizeof run && weights.struct_size == sizeof weights);
    CHECK(backend.struct_size == sizeof backend && backend.backend == NULL && backend.weights_budget_bytes == 0);

    plan.struct_size = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_create(good.session, good.graph, &plan, &p), "struct_size is 0", "16");
    CHECK(p == NULL);
    plan.struct_size = 1000000;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_plan_create(good.session, good.graph, &plan, &p), "1000000", "16");
    plan.struct_size = sizeof plan;
    plan.max_instances = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_create(good.session, good.graph, &plan, &p), "max_instances is -1");
    run.struct_size = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, NULL, 0, NULL, 0, &run), "struct_size is 0", "40");
    run.struct_size = 1000000;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_plan_run(good.plan, NULL, 0, NULL, 0, &run), "1000000", "40");
    weights.struct_size = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open("x", &weights, &w), "struct_size is 0", "8");
    weights.struct_size = 1000000;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_weights_open("x", &weights, &w), "1000000", "72");
    CHECK(w == NULL);
}

/* What is wrong with an array, for weights that have a tensor "a", f32[3, 4]. */
static void arrays(qtsa_weights w) {
    static const float data[3][4];
    const int64_t shape[] = {3, 4}, other[] = {4, 3}, strides[] = {16, 4};
    qtsa_array a;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add(w, "b", NULL), "\"b\"", "array is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_set(w, "a", NULL), "\"a\"", "array is null");
    a = qtsa_array_dense(QTSA_DTYPE_F32, shape, 2, data, sizeof data);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add(w, NULL, &a), "name is null");
    a.struct_size = 8;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add(w, "b", &a), "\"b\"", "struct_size is 8");
    a.struct_size = sizeof a + 8;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_weights_add(w, "b", &a), "\"b\"", "newer");
    a.struct_size = sizeof a;
    a.bytes = 44;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_weights_add(w, "b", &a), "\"b\"", "44", "48");
    a.strides = strides;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add(w, "b", &a), "\"b\"", "with strides it is 0");
    a.strides = NULL;
    a.data = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add(w, "b", &a), "\"b\"", "data is null");
    a = qtsa_array_dense(QTSA_DTYPE_F32, other, 2, data, sizeof data);
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_weights_set(w, "a", &a), "\"a\"", "[3, 4]", "[4, 3]");
    a = qtsa_array_dense(QTSA_DTYPE_F32, shape, 2, data, sizeof data);
    WRONG(QTSA_ERR_ALREADY_EXISTS, qtsa_weights_add(w, "a", &a), "\"a\"");
}

static void weights(void) {
    const int64_t shape[] = {3, 4}, zero[] = {3, 0}, overflowing[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    const int64_t row_of_100[] = {2, 100}, five[] = {1, 1, 1, 1, 1};
    float data[13] = {0};
    size_t n, keys;
    qtsa_tensor_info info;
    qtsa_weights w;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, "a", QTSA_DTYPE_F32, shape, 2));
    WRONG(QTSA_ERR_ALREADY_EXISTS, add_declared(w, "a", QTSA_DTYPE_F32, shape, 2), "\"a\"", "f32[3, 4]");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, add_declared(w, "b", QTSA_DTYPE_F32, zero, 2), "\"b\"", "[3, 0]");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, add_declared(w, "b", QTSA_DTYPE_F32, overflowing, 2), "\"b\"", "2^59");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, add_declared(w, "b", QTSA_DTYPE_Q4_0, row_of_100, 2), "\"b\"", "100", "q4_0",
          "32");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, add_declared(w, "b", QTSA_DTYPE_F32, five, 5), "\"b\"", "rank is 5");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, add_declared(w, "b", 4, shape, 2), "\"b\"", "dtype 4");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, set_dense(w, "a", data, 52), "\"a\"", "48", "52");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, set_dense(w, "a", data, 44), "\"a\"", "48", "44");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, set_dense(w, "a", NULL, 0), "\"a\"", "data is null");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, set_dense(w, "a", data, SIZE_MAX), "\"a\"", "18446744073709551615");
    WRONG(QTSA_ERR_NOT_FOUND, set_dense(w, "c", data, 48), "\"c\"");
    n = 9;
    info.rank = 9;
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_weights_info(w, "c", 0, &info), "\"c\"");
    CHECK(info.rank == 0);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_info(w, "a", 1, &info), "both a name", "\"a\"");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_name_copy(w, 3, 0, NULL, 0, &n), "kind is 3");
    arrays(w);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_info(w, NULL, 1, &info), "index is 1", "1 tensors");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_info(w, NULL, SIZE_MAX, &info), "18446744073709551615");
    CHECK(info.dtype == 0 && info.rank == 0 && info.bytes == 0);
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_weights_metadata_copy(w, "general.name", QTSA_WHOLE, NULL, 0, &n), "general.name");
    OK(qtsa_weights_info(w, NULL, 0, &info));
    CHECK(info.dtype == QTSA_DTYPE_F32 && info.rank == 2 && info.shape[0] == 3 && info.shape[1] == 4);
    CHECK(info.shape[2] == 0 && info.shape[3] == 0 && info.bytes == 48);
    OK(qtsa_weights_count(w, &n, &keys));
    CHECK(n == 1);
    OK(qtsa_weights_free(w));
}

static void weights_without_data(void) {
    const int64_t shape[] = {3, 4}, x_shape[] = {2, 4};
    float y[2][3];
    qtsa_weights w;
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor in[2], out;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, "hollow", QTSA_DTYPE_F32, shape, 2));
    OK(qtsa_graph_create("early", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, x_shape, 2, &in[0]));
    OK(qtsa_graph_weight(g, w, "hollow", &in[1]));
    OK(qtsa_graph_op(g, "linear", in, 2, NULL, 0, &out, 1));
    OK(qtsa_graph_output(g, "y", out));
    OK(qtsa_plan_create(good.session, g, NULL, &p));
    WRONG(QTSA_ERR_INVALID_STATE, model_run(p, 1, y), "early", "hollow", "f32[3, 4]", "no data");
    WRONG(QTSA_ERR_INVALID_STATE, qtsa_plan_prepare(p, NULL, 0), "early", "hollow");
    OK(set_dense(w, "hollow", model_weight, sizeof model_weight));
    OK(model_run(p, 1, y));
    CHECK(y[0][0] == 8); /* 1 - 4 + 9 + 2 */
    WRONG(QTSA_ERR_INVALID_STATE, set_dense(w, "hollow", model_weight, sizeof model_weight), "hollow", "in use");
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    OK(qtsa_weights_free(w));
}

static void graphs(void) {
    const int64_t a_shape[] = {2, 4}, b_shape[] = {3, 5}, five[] = {1, 1, 1, 1, 1}, zero[] = {0};
    const int64_t overflowing[] = {INT64_C(1) << 32, INT64_C(1) << 32}, row_of_32[] = {2, 32};
    const int64_t axes[] = {0, 1};
    qtsa_attr attr;
    qtsa_tensor a, b, ids, in[3], out, two[2];
    qtsa_tensor_info info;
    qtsa_plan p;
    int64_t dim;
    qtsa_graph g;
    OK(qtsa_graph_create("bad", &g));
    OK(qtsa_graph_input(g, "a", QTSA_DTYPE_F32, a_shape, 2, &a));
    OK(qtsa_graph_input(g, "b", QTSA_DTYPE_F32, b_shape, 2, &b));
    OK(qtsa_graph_input(g, "ids", QTSA_DTYPE_I32, a_shape, 1, &ids));

    WRONG(QTSA_ERR_ALREADY_EXISTS, qtsa_graph_input(g, "a", QTSA_DTYPE_F32, a_shape, 2, &out), "bad", "\"a\"");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "c", QTSA_DTYPE_F32, five, 5, &out), "\"c\"", "rank is 5");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "c", QTSA_DTYPE_F32, zero, 1, &out), "\"c\"", "[0]");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "c", QTSA_DTYPE_F32, overflowing, 2, &out), "\"c\"", "2^59");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "c", QTSA_DTYPE_Q8_0, row_of_32, 2, &out), "\"c\"", "q8_0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_state(g, "c", QTSA_DTYPE_I32, a_shape, 2, &out), "\"c\"", "i32");
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_graph_weight(g, good.weights, "weigth", &out), "weigth", "did you mean", "weight");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim(g, "t", 5, 4, &dim), "\"t\"", "5", "4");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim(g, "t", 0, 4, &dim), "\"t\"", "0");

    WRONG(QTSA_ERR_NOT_FOUND, qtsa_graph_op(g, "matmull", &a, 1, NULL, 0, &out, 1), "matmull", "matmul");
    in[0] = a, in[1] = b;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_graph_op(g, "matmul", in, 2, NULL, 0, &out, 1), "bad", "matmul", "f32[2, 4]",
          "f32[3, 5]", "\"a\"", "\"b\"");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_graph_op(g, "linear", in, 2, NULL, 0, &out, 1), "linear", "[2, 4]", "[3, 5]");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_graph_op(g, "add", in, 2, NULL, 0, &out, 1), "add", "[2, 4]", "[3, 5]");
    in[1] = ids;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "add", in, 2, NULL, 0, &out, 1), "add", "i32[2]", "f32");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "linear", in, 1, NULL, 0, &out, 1), "linear", "\"weight\"",
          "missing");
    in[0] = 99;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "relu", in, 1, NULL, 0, &out, 1), "relu", "99");
    in[0] = -7;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "relu", in, 1, NULL, 0, &out, 1), "relu", "-7");
    in[0] = a, in[1] = a, in[2] = a;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "add", in, 3, NULL, 0, &out, 1), "add", "3 inputs", "2");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "relu", &a, 1, NULL, 0, two, 2), "relu", "2 outputs", "1");

    attr = qtsa_attr_int("axes", 1);
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_graph_op(g, "softmax", &a, 1, &attr, 1, &out, 1), "softmax", "axes", "axis");
    attr = qtsa_attr_float("axis", 1);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "softmax", &a, 1, &attr, 1, &out, 1), "softmax", "axis", "int");
    attr = qtsa_attr_int("axis", 2);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "softmax", &a, 1, &attr, 1, &out, 1), "softmax", "axis", "2");
    attr.type = 17;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "softmax", &a, 1, &attr, 1, &out, 1), "softmax", "axis",
          "type is 17");
    attr = qtsa_attr_int(NULL, 2);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "softmax", &a, 1, &attr, 1, &out, 1), "attribute 0",
          "name is null");
    attr = qtsa_attr_string("mode", NULL);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "pad", &a, 1, &attr, 1, &out, 1), "\"mode\"", "s is null");
    attr = qtsa_attr_ints("axes", axes, -1);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "transpose", &a, 1, &attr, 1, &out, 1), "\"axes\"",
          "count is -1");
    attr = qtsa_attr_ints("axes", NULL, 2);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "transpose", &a, 1, &attr, 1, &out, 1), "\"axes\"",
          "ints is null");
    attr = qtsa_attr_ints("axes", axes, 1);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "transpose", &a, 1, &attr, 1, &out, 1), "transpose", "axes");

    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_output(g, "y", 42), "\"y\"", "42");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_info(g, QTSA_NONE, &info), "the tensor is none");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_create(good.session, g, NULL, &p), "bad", "no output");

    /* The graph is as before all this: its first operator is the first added now. */
    in[0] = a, in[1] = a;
    OK(qtsa_graph_op(g, "add", in, 2, NULL, 0, &out, 1));
    CHECK(out == ids + 1);
    OK(qtsa_graph_output(g, "y", out));
    WRONG(QTSA_ERR_ALREADY_EXISTS, qtsa_graph_output(g, "y", a), "\"y\"");
    OK(qtsa_graph_info(g, out, &info));
    CHECK(info.rank == 2 && info.shape[0] == 2 && info.shape[1] == 4 && info.bytes == 32);
    OK(qtsa_graph_free(g));
}

static void runs(void) {
    float x[9] = {0}, y[7] = {0};
    size_t index = 3;
    int64_t dim = 1;
    qtsa_input in = {x, 32};
    qtsa_output out = {y, 24};
    qtsa_run_options o;
    qtsa_plan fresh;
    o = qtsa_run_options_init();

    in.bytes = 36;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(good.plan, &in, 1, &out, 1, NULL), "model", "\"x\"", "36", "32");
    in.bytes = 28;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(good.plan, &in, 1, &out, 1, NULL), "model", "\"x\"", "28", "32");
    in.bytes = SIZE_MAX;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(good.plan, &in, 1, &out, 1, NULL), "\"x\"", "18446744073709551615");
    in.bytes = 32;
    out.bytes = 28;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(good.plan, &in, 1, &out, 1, NULL), "model", "\"y\"", "28", "24");
    out.bytes = 20;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(good.plan, &in, 1, &out, 1, NULL), "model", "\"y\"", "20", "24");
    out.bytes = 24;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 0, &out, 1, NULL), "0 inputs", "1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 0, NULL), "0 outputs", "1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, SIZE_MAX, &out, 1, NULL), "inputs",
          "18446744073709551615");
    o.threads = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 1, &o), "threads is -1");
    o.threads = QTSA_MAX_THREADS + 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 1, &o),
          "threads is 513, want 1 to 512, or 0");
    o.threads = 0;
    o.reserved = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 1, &o), "reserved is 1");
    o.reserved = 0;
    o.n_dims = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 1, &o), "dims is null");
    o.dims = &dim;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(good.plan, &in, 1, &out, 1, &o), "model", "1 values",
          "0 dynamic dimensions");
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_plan_find(good.plan, QTSA_INPUT, "z", &index), "model", "\"z\"", "\"x\"");
    CHECK(index == 0);
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_plan_find(good.plan, QTSA_OUTPUT, "x", &index), "model", "\"x\"", "\"y\"");

    OK(qtsa_plan_create(good.session, good.graph, NULL, &fresh));
    in.data = NULL;
    WRONG(QTSA_ERR_INVALID_STATE, qtsa_plan_run(fresh, &in, 1, &out, 1, NULL), "\"x\"", "not given");
    OK(qtsa_plan_free(fresh));
}

static void dynamic_dimensions(void) {
    int64_t shape[2], t;
    float x[8] = {-1, 2, -3, 4, 0, 0, 0, 0}, y[8];
    qtsa_input in = {x, 16};
    qtsa_output out = {y, 16};
    qtsa_run_options o;
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor_info info;
    qtsa_tensor a, b;
    OK(qtsa_graph_create("dynamic", &g));
    OK(qtsa_graph_dim(g, "t", 1, 4, &shape[0]));
    shape[1] = 2;
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &a));
    OK(qtsa_graph_op(g, "relu", &a, 1, NULL, 0, &b, 1));
    OK(qtsa_graph_output(g, "y", b));
    OK(qtsa_graph_info(g, b, &info));
    CHECK(info.rank == 2 && info.shape[0] == -1 && info.shape[1] == 2 && info.bytes == 32);
    OK(qtsa_plan_create(good.session, g, NULL, &p));
    t = 3;
    OK(qtsa_plan_info(p, QTSA_OUTPUT, 0, &t, 1, &info));
    CHECK(info.dtype == QTSA_DTYPE_F32 && info.rank == 2 && info.shape[0] == 3 && info.shape[1] == 2);
    CHECK(info.shape[2] == 0 && info.bytes == 24);
    t = 4;
    OK(qtsa_plan_info(p, QTSA_INPUT, 0, &t, 1, &info));
    CHECK(info.dtype == QTSA_DTYPE_F32 && info.rank == 2 && info.shape[0] == 4 && info.bytes == 32);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_info(p, QTSA_OUTPUT, 1, &t, 1, &info), "output 1", "has 1");
    CHECK(info.dtype == 0 && info.rank == 0 && info.bytes == 0);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_info(p, QTSA_INPUT, SIZE_MAX, &t, 1, &info), "18446744073709551615");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_info(p, QTSA_OUTPUT, 0, NULL, 0, &info), "0 values", "1 dynamic");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_info(p, QTSA_OUTPUT, 0, NULL, 1, &info), "dims is null");
    t = 5;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_info(p, QTSA_OUTPUT, 0, &t, 1, &info), "\"t\"", "5", "1 to 4");
    o = qtsa_run_options_init();
    o.dims = &t;
    o.n_dims = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, &in, 1, &out, 1, NULL), "dynamic", "0 values", "1 dynamic");
    t = 5;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, &in, 1, &out, 1, &o), "dynamic", "\"t\"", "5", "1 to 4");
    t = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_prepare(p, &t, 1), "dynamic", "\"t\"", "0", "1 to 4");
    t = 3;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(p, &in, 1, &out, 1, &o), "\"x\"", "16", "24");
    t = 2;
    OK(qtsa_plan_run(p, &in, 1, &out, 1, &o));
    CHECK(y[0] == 0 && y[1] == 2 && y[2] == 0 && y[3] == 4);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
}

static int64_t size_of(qtsa_graph g, int64_t a, int32_t op, int64_t b) {
    int64_t made;
    OK(qtsa_graph_dim_op(g, op, a, b, &made));
    return made;
}

/* The text of a size is as it should be. */
static void reads(qtsa_graph g, int64_t size, const char *want) {
    char text[64];
    size_t n;
    OK(qtsa_graph_dim_text_copy(g, size, text, sizeof text, &n));
    CHECK(n == strlen(want) + 1 && strcmp(text, want) == 0);
}

static void expressions(void) {
    int64_t n, m, foreign, odd, shape[2], dim = 1, values[2] = {4, 2};
    int64_t wrong[9];
    float x[18], one[4], y[8], count[8];
    qtsa_input in = {x, sizeof x};
    qtsa_output out[2] = {{one, sizeof one}, {count, sizeof count}};
    qtsa_run_options o;
    qtsa_tensor_info info;
    qtsa_tensor a, t;
    qtsa_attr attrs[4];
    qtsa_graph g, other;
    qtsa_plan p;
    char text[8];
    size_t size;
    int i;
    OK(qtsa_graph_create("sizes", &g));
    OK(qtsa_graph_create("other", &other));
    OK(qtsa_graph_dim(g, "n", 2, 8, &n));
    OK(qtsa_graph_dim(g, "m", 1, 4, &m));
    OK(qtsa_graph_dim(other, "n", 2, 8, &foreign));
    odd = size_of(g, size_of(g, n, QTSA_DIM_MUL, 2), QTSA_DIM_ADD, 1);
    CHECK(odd == size_of(g, 1, QTSA_DIM_ADD, size_of(g, n, QTSA_DIM_ADD, n)));
    CHECK(size_of(g, odd, QTSA_DIM_SUB, odd) == 0 && size_of(g, 6, QTSA_DIM_DIV, 3) == 2);
    reads(g, odd, "2*n + 1");
    reads(g, size_of(g, size_of(g, n, QTSA_DIM_DIV, 2), QTSA_DIM_MUL, m), "m*(n/2)");
    reads(g, n, "n");
    reads(g, INT64_MIN, "-9223372036854775808");

    shape[0] = odd, shape[1] = m;
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &a));
    attrs[0] = qtsa_attr_int("axis", 0);
    attrs[1] = qtsa_attr_int("start", size_of(g, n, QTSA_DIM_DIV, 2));
    attrs[2] = qtsa_attr_int("end", n);
    OK(qtsa_graph_op(g, "slice", &a, 1, attrs, 3, &t, 1));
    OK(qtsa_graph_output(g, "part", t));
    attrs[0] = qtsa_attr_int("count", size_of(g, n, QTSA_DIM_MUL, m));
    OK(qtsa_graph_op(g, "arange", NULL, 0, attrs, 1, &t, 1));
    OK(qtsa_graph_output(g, "count", t));
    OK(qtsa_graph_info(g, a, &info));
    CHECK(info.shape[0] == -1 && info.shape[1] == -1 && info.bytes == 17 * 4 * sizeof(float));
    OK(qtsa_plan_create(good.session, g, NULL, &p));
    o = qtsa_run_options_init();
    o.dims = values;
    o.n_dims = 2;
    for (i = 0; i < 18; i++) x[i] = (float)i;
    OK(qtsa_plan_run(p, &in, 1, out, 2, &o));
    for (i = 0; i < 4; i++) CHECK(one[i] == (float)(i + 4));
    for (i = 0; i < 8; i++) CHECK(count[i] == (float)i);
    OK(qtsa_plan_info(p, QTSA_INPUT, 0, values, 2, &info));
    CHECK(info.shape[0] == 9 && info.shape[1] == 2);
    values[0] = 3;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_prepare(p, values, 2), "\"sizes\"", "slice", "start", "\"n/2\" is 3/2",
          "n=3");
    OK(qtsa_plan_free(p));

    /* What is computed from the numbers is none, nor is another graph's. */
    wrong[0] = n + 1, wrong[1] = n - 1, wrong[2] = -n, wrong[3] = foreign, wrong[4] = n - m, wrong[5] = n - m + 1;
    wrong[6] = (int64_t)(2 * (uint64_t)n), wrong[7] = (int64_t)((uint64_t)n + (uint64_t)m), wrong[8] = n / 2;
    for (i = 0; i < 9; i++) {
        shape[0] = wrong[i];
        WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "z", QTSA_DTYPE_F32, shape, 2, &t), "\"z\"",
              "qtsa_graph_dim_op");
        WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_op(g, QTSA_DIM_ADD, wrong[i], 1, &dim), "qtsa_graph_dim_op");
        CHECK(dim == 0);
        attrs[0] = qtsa_attr_int("count", wrong[i]);
        WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "arange", NULL, 0, attrs, 1, &t, 1), "arange", "\"count\"",
              "qtsa_graph_dim_op");
        attrs[0] = qtsa_attr_ints("shape", &wrong[i], 1);
        WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "reshape", &a, 1, attrs, 1, &t, 1), "reshape", "\"shape\"",
              "qtsa_graph_dim_op");
    }
    shape[0] = size_of(g, 0, QTSA_DIM_SUB, n);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "z", QTSA_DTYPE_F32, shape, 2, &t), "\"-n\" is -2", "n=2");
    shape[0] = size_of(g, n, QTSA_DIM_SUB, 2);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_input(g, "z", QTSA_DTYPE_F32, shape, 2, &t), "\"n - 2\" is 0");
    shape[0] = n;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_state(g, "z", QTSA_DTYPE_F32, shape, 2, &t), "\"z\"", "fixed");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_op(g, QTSA_DIM_DIV, n, 0, &dim), "n / 0", "division by 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_op(g, QTSA_DIM_DIV, 7, 2, &dim), "7 / 2", "rest");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_op(g, 0, n, m, &dim), "QTSA_DIM_");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_op(g, QTSA_DIM_ADD, n, m, NULL), "out_dim");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_graph_dim_op(NULL, QTSA_DIM_ADD, 1, 2, &dim), "");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_text_copy(g, n + 1, text, sizeof text, &size), "qtsa_graph_dim_op");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_dim_text_copy(g, odd, text, 7, &size), "7 bytes", "8 are needed");

    /* ONNX's idiom for "through to the first element". */
    shape[0] = 4;
    OK(qtsa_graph_input(other, "x", QTSA_DTYPE_F32, shape, 1, &a));
    attrs[0] = qtsa_attr_int("axis", 0);
    attrs[1] = qtsa_attr_int("start", -1);
    attrs[2] = qtsa_attr_int("end", INT64_MIN);
    attrs[3] = qtsa_attr_int("step", -1);
    OK(qtsa_graph_op(other, "slice", &a, 1, attrs, 4, &t, 1));
    OK(qtsa_graph_output(other, "y", t));
    OK(qtsa_plan_create(good.session, other, NULL, &p));
    values[0] = 2;
    o.n_dims = 1;
    in.bytes = out[0].bytes = 16;
    out[0].data = y;
    OK(qtsa_plan_run(p, &in, 1, out, 1, &o));
    for (i = 0; i < 4; i++) CHECK(y[i] == (float)(3 - i));
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(other));
    OK(qtsa_graph_free(g));
}

static void tensors_of_other_graphs(void) {
    const int64_t shape[] = {4};
    qtsa_tensor mine, theirs, both[2], out = 1, stale;
    qtsa_tensor_info info;
    qtsa_graph g, other, gone;
    OK(qtsa_graph_create("mine", &g));
    OK(qtsa_graph_create("theirs", &other));
    OK(qtsa_graph_create("gone", &gone));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 1, &mine));
    OK(qtsa_graph_input(other, "x", QTSA_DTYPE_F32, shape, 1, &theirs));
    OK(qtsa_graph_input(gone, "x", QTSA_DTYPE_F32, shape, 1, &stale));
    OK(qtsa_graph_free(gone));
    CHECK(mine > 0 && theirs > 0 && mine != theirs && stale != mine);
    both[0] = mine, both[1] = theirs;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "add", both, 2, NULL, 0, &out, 1), "\"mine\"", "add", "input 1",
          "a tensor of another graph");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(other, "relu", &mine, 1, NULL, 0, &out, 1), "another graph");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "relu", &stale, 1, NULL, 0, &out, 1), "another graph");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_output(g, "y", theirs), "output \"y\"", "another graph");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_output(g, "y", QTSA_NONE), "output \"y\"", "none");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_output(g, "y", 0), "output \"y\"", "no tensor");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_info(g, theirs, &info), "another graph");
    OK(qtsa_graph_info(g, mine, &info));
    OK(qtsa_graph_free(other));
    OK(qtsa_graph_free(g));
}

static void embedding_indices(void) {
    const int64_t shape[] = {3};
    const int32_t fine[] = {2, 0, 1}, beyond[] = {0, 3, 1}, negative[] = {0, 1, -1}, extreme[] = {INT32_MIN, 0, 0};
    float y[3][4];
    qtsa_input in = {fine, sizeof fine};
    qtsa_output out = {y, sizeof y};
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor t[2], rows;
    OK(qtsa_graph_create("lookup", &g));
    OK(qtsa_graph_weight(g, good.weights, "weight", &t[0]));
    OK(qtsa_graph_input(g, "ids", QTSA_DTYPE_I32, shape, 1, &t[1]));
    OK(qtsa_graph_op(g, "embedding", t, 2, NULL, 0, &rows, 1));
    OK(qtsa_graph_output(g, "rows", rows));
    OK(qtsa_plan_create(good.session, g, NULL, &p));
    in.data = beyond;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, &in, 1, &out, 1, NULL), "lookup", "\"ids\"", "element 1 is 3",
          "0 to 2");
    in.data = negative;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, &in, 1, &out, 1, NULL), "lookup", "\"ids\"", "element 2 is -1",
          "0 to 2");
    in.data = extreme;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, &in, 1, &out, 1, NULL), "\"ids\"", "-2147483648");
    in.data = fine;
    OK(qtsa_plan_run(p, &in, 1, &out, 1, NULL));
    CHECK(memcmp(y[0], model_weight[2], sizeof y[0]) == 0 && memcmp(y[1], model_weight[0], sizeof y[0]) == 0);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
}

static void state(void) {
    const int64_t cache_shape[] = {4, 2}, row_shape[] = {1, 2}, at_shape[] = {1}, other_shape[] = {4, 3};
    const float row[] = {5, 6};
    int32_t at = 4;
    float content[8], want[8] = {0, 0, 0, 0, 0, 0, 5, 6};
    qtsa_input in[2];
    qtsa_output out = {content, sizeof content};
    qtsa_session s;
    qtsa_graph g, other;
    qtsa_plan p, q;
    qtsa_tensor t[3], written, again;
    OK(qtsa_session_create(good.backend, &s));
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_session_read(s, "cache", 0, content, 32), "\"cache\"", "none");
    OK(qtsa_graph_create("remember", &g));
    OK(qtsa_graph_state(g, "cache", QTSA_DTYPE_F32, cache_shape, 2, &t[0]));
    WRONG(QTSA_ERR_ALREADY_EXISTS, qtsa_graph_state(g, "cache", QTSA_DTYPE_F32, cache_shape, 2, &again), "\"cache\"");
    OK(qtsa_graph_input(g, "row", QTSA_DTYPE_F32, row_shape, 2, &t[1]));
    OK(qtsa_graph_input(g, "at", QTSA_DTYPE_I32, at_shape, 1, &t[2]));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_graph_op(g, "state_write", &t[1], 2, NULL, 0, &written, 1), "state_write",
          "\"row\"");
    OK(qtsa_graph_op(g, "state_write", t, 3, NULL, 0, &written, 1));
    OK(qtsa_graph_output(g, "content", written));
    OK(qtsa_plan_create(s, g, NULL, &p));

    in[0].data = row, in[0].bytes = sizeof row;
    in[1].data = &at, in[1].bytes = sizeof at;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, in, 2, &out, 1, NULL), "remember", "\"at\"", "element 0 is 4",
          "0 to 3");
    at = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_run(p, in, 2, &out, 1, NULL), "remember", "\"at\"", "element 0 is -1");
    OK(qtsa_session_read(s, "cache", 0, content, sizeof content));
    CHECK(content[6] == 0); /* found before the run: the state is as it was */
    at = 3;
    OK(qtsa_plan_run(p, in, 2, &out, 1, NULL));
    CHECK(memcmp(content, want, sizeof want) == 0);

    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_session_read(s, "cache", 0, content, 36), "\"cache\"", "36", "32");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_session_read(s, "cache", 33, content, 0), "\"cache\"", "33", "32");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_session_write(s, "cache", SIZE_MAX, content, 2), "\"cache\"",
          "18446744073709551615");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_session_write(s, "cache", 0, NULL, 4), "\"cache\"", "data is null");
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_session_write(s, "cash", 0, content, 4), "\"cash\"", "\"cache\"");
    OK(qtsa_session_read(s, "cache", 24, content, 8));
    CHECK(content[0] == 5 && content[1] == 6);

    OK(qtsa_graph_create("other", &other));
    OK(qtsa_graph_state(other, "cache", QTSA_DTYPE_F32, other_shape, 2, &t[0]));
    OK(qtsa_graph_output(other, "content", t[0]));
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_create(s, other, NULL, &q), "\"cache\"", "f32[4, 3]", "f32[4, 2]");
    CHECK(q == NULL);

    OK(qtsa_session_reset(s));
    OK(qtsa_session_read(s, "cache", 0, content, sizeof content));
    CHECK(content[6] == 0 && content[7] == 0);
    OK(qtsa_graph_free(other));
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    OK(qtsa_session_free(s));
}

static void handles(void) {
    float y[2][3];
    size_t n, keys;
    qtsa_graph g;
    qtsa_weights w;
    qtsa_session s = NULL;
    uintptr_t bits = (uintptr_t)good.plan;
    uint64_t random = 88172645463325252u;
    int i;

    WRONG(QTSA_ERR_INVALID_HANDLE, model_run(NULL, 1, y), "null", "qtsa_plan");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)good.graph, 1, y), "is a qtsa_graph", "want a qtsa_plan");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)good.session, 1, y), "is a qtsa_session", "want a qtsa_plan");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)(bits & 0xffffffff), 1, y), "truncated");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)(bits ^ 1), 1, y), "none that this library gave out");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)(uintptr_t)&bits, 1, y), "none that this library gave out");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)(uintptr_t)0x9e3779b97f4a7c15u, 1, y), "0x9e3779b97f4a7c15");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)(uintptr_t)1, 1, y), "truncated");
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run((qtsa_plan)UINTPTR_MAX, 1, y), "truncated");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_session_create((qtsa_backend)good.weights, &s), "is a qtsa_weights",
          "want a qtsa_backend");
    CHECK(s == NULL);
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_weights_count(NULL, &n, &keys), "null", "qtsa_weights");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_session_cancel((qtsa_session)good.backend), "is a qtsa_backend");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_backend_free((qtsa_backend)good.plan), "is a qtsa_plan");

    for (i = 0; i < 100000; i++) { /* xorshift64 (Marsaglia, 2003) */
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_plan_prepare((qtsa_plan)(uintptr_t)random, NULL, 0), "handle");
        if (i % 2000 == 0) all_is_well();
    }

    OK(qtsa_plan_free(NULL));
    OK(qtsa_graph_free(NULL));
    OK(qtsa_weights_free(NULL));
    OK(qtsa_session_free(NULL));
    OK(qtsa_backend_free(NULL));

    OK(qtsa_graph_create(NULL, &g));
    OK(qtsa_graph_free(g));
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_graph_free(g), "freed", "qtsa_graph");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_graph_output(g, "y", 0), "freed", "qtsa_graph");
    OK(qtsa_weights_create(&w));
    OK(qtsa_weights_free(w));
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_weights_free(w), "freed", "qtsa_weights");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_graph_weight(good.graph, w, "weight", &(qtsa_tensor){0}), "freed",
          "qtsa_weights");
}

/* A plan goes on when all it was made of is freed. */
static void freeing_what_a_plan_holds(void) {
    model m;
    float y[2][3];
    model_open(&m);
    OK(qtsa_weights_free(m.weights));
    OK(qtsa_graph_free(m.graph));
    MODEL_RUNS(m.plan);
    OK(qtsa_session_free(m.session));
    OK(qtsa_backend_free(m.backend));
    MODEL_RUNS(m.plan);
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_session_reset(m.session), "freed", "qtsa_session");
    MODEL_RUNS(m.plan);
    OK(qtsa_plan_free(m.plan));
    WRONG(QTSA_ERR_INVALID_HANDLE, model_run(m.plan, 1, y), "freed", "qtsa_plan");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_plan_free(m.plan), "freed", "qtsa_plan");
}

static const char *file_path(const char *folder, const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *file_with(const char *folder, const char *name, const void *content, size_t bytes) {
    const char *path = file_path(folder, name);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK(bytes == 0 || fwrite(content, 1, bytes, f) == bytes);
    CHECK(fclose(f) == 0);
    return path;
}

static void files(const char *folder, const char *gguf) {
    static const char header[] = "{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    unsigned char file[8 + sizeof header - 1 + 8] = {sizeof header - 1};
    const float values[2] = {1.5f, -2};
    qtsa_tensor_info info;
    char name[8];
    size_t n, keys, cut;
    qtsa_weights w;
    memcpy(file + 8, header, sizeof header - 1);
    memcpy(file + 8 + sizeof header - 1, values, sizeof values);

    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(NULL, NULL, &w), "path is null");
    WRONG(QTSA_ERR_IO, qtsa_weights_open(file_path(folder, "missing.gguf"), NULL, &w), "missing.gguf");
    CHECK(w == NULL);
    WRONG(QTSA_ERR_IO, qtsa_weights_open(folder, NULL, &w), folder);
    WRONG(QTSA_ERR_CORRUPT, qtsa_weights_open(file_with(folder, "empty", "", 0), NULL, &w), "empty");
    WRONG(QTSA_ERR_CORRUPT,
          qtsa_weights_open(file_with(folder, "foreign.png", "\x89PNG\r\n\x1a\n this is a picture", 25), NULL, &w),
          "foreign.png");
    WRONG(QTSA_ERR_CORRUPT, qtsa_weights_open(file_with(folder, "short.gguf", "GGUF", 4), NULL, &w), "short.gguf");
    for (cut = 1; cut < sizeof file; cut += 7)
        WRONG(QTSA_ERR_CORRUPT, qtsa_weights_open(file_with(folder, "cut.safetensors", file, cut), NULL, &w),
              "cut.safetensors");

    OK(qtsa_weights_open(file_with(folder, "whole.safetensors", file, sizeof file), NULL, &w));
    OK(qtsa_weights_info(w, "v", 0, &info));
    OK(qtsa_weights_name_copy(w, QTSA_NAME_TENSOR, 0, name, sizeof name, &n));
    CHECK(strcmp(name, "v") == 0);
    OK(qtsa_weights_free(w));

    if (gguf == NULL) {
        printf("skipped: truncated GGUF files, for want of one to truncate\n");
    } else {
        FILE *f = fopen(gguf, "rb");
        size_t size = 1 << 22;
        char *content = malloc(size);
        CHECK(f != NULL && content != NULL);
        size = fread(content, 1, size, f);
        fclose(f);
        for (cut = 5; cut < size; cut = cut * 3 + 1)
            WRONG(QTSA_ERR_CORRUPT, qtsa_weights_open(file_with(folder, "cut.gguf", content, cut), NULL, &w),
                  "cut.gguf");
        WRONG(QTSA_ERR_CORRUPT, qtsa_weights_open(file_with(folder, "cut.gguf", content, size - 1), NULL, &w),
              "cut.gguf");
        OK(qtsa_weights_open(gguf, NULL, &w));
        OK(qtsa_weights_count(w, &n, &keys));
        CHECK(n > 1);
        OK(qtsa_weights_free(w));
        free(content);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER [GGUF-FILE]\n", argv[0]);
        return 2;
    }
    CHECK(strcmp(qtsa_last_error(), "") == 0);
    model_open(&good);
    all_is_well();
    names_and_versions();
    shapes_and_sizes();
    null_parameters();
    copies();
    backends();
    struct_sizes();
    weights();
    weights_without_data();
    graphs();
    runs();
    dynamic_dimensions();
    expressions();
    tensors_of_other_graphs();
    embedding_indices();
    state();
    handles();
    freeing_what_a_plan_holds();
    files(argv[1], argc > 2 ? argv[2] : NULL);
    model_free(&good);
    printf("ok\n");
    return 0;
}
