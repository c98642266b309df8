/*
 * In a child made by fork() every function that gives a status gives FORKED at
 * once, whatever its arguments; the parent goes on, and a child that calls exec()
 * uses the library as any other process.
 *
 * usage: fork   (it starts itself again with an argument)
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"

static model m;

#define FORKED(call) REFUSED(QTSA_ERR_FORKED, call, "fork()")

static void operator_level_calls(void) {
    const int64_t sizes[] = {1, 2, 3};
    char text[64];
    float y[2][3];
    size_t n = 7;
    int32_t wants = 7;
    uint64_t bytes = 7;
    qtsa_matrix matrix = (qtsa_matrix)m.backend;
    qtsa_conv2d_geometry geometry;
    qtsa_product job;
    qtsa_operand operand;
    qtsa_attention_desc attention;
    SIZED(attention);
    SIZED(geometry);
    SIZED(job);
    SIZED(operand);
    FORKED(qtsa_matrix_create(m.backend, NULL, &matrix));
    CHECK(matrix == NULL);
    FORKED(qtsa_matrix_free(NULL));
    FORKED(qtsa_matrix_bytes(NULL, &bytes));
    CHECK(bytes == 0);
    FORKED(qtsa_matmul(m.backend, &y[0][0], 1, 3, &job, 1, 0));
    FORKED(qtsa_conv2d(m.backend, &y[0][0], &geometry, NULL, &job, 0));
    FORKED(qtsa_attention(m.backend, &attention, 0));
    FORKED(qtsa_op_run(m.backend, "relu", &operand, 1, NULL, 0, &operand, 1, 0));
    FORKED(qtsa_backend_wants(m.backend, "matmul", sizes, 3, &wants));
    CHECK(wants == 0);
    FORKED(qtsa_backend_calibrate(m.backend, NULL));
    FORKED(qtsa_backend_stats_copy(m.backend, QTSA_FORMAT_TEXT, 0, text, sizeof text, &n));
    CHECK(n == 0);
}

static void default_backend(void) {
    qtsa_backend active = m.backend;
    FORKED(qtsa_backend_install(m.backend));
    FORKED(qtsa_backend_get_active(&active));
    CHECK(active == NULL);
}

static void every_function(void) {
    default_backend();
    const int64_t shape[] = {2, 4};
    char text[64];
    float y[2][3];
    size_t n = 7, keys = 7;
    int64_t dim = 7;
    qtsa_tensor t = 7;
    qtsa_tensor_info info = {QTSA_DTYPE_F32, 1, {1, 0, 0, 0}, 4};
    qtsa_backend backend = m.backend;
    qtsa_weights weights = m.weights;
    qtsa_graph graph = m.graph;
    qtsa_session session = m.session;
    qtsa_plan plan = m.plan;
    qtsa_weights_memory memory;
    uint64_t device_bytes;
    qtsa_metadata_info metadata_info;
    int64_t metadata_int;
    qtsa_split_report report = {QTSA_DTYPE_F32, 1, 1, 1, 1};

    OK(qtsa_version_require(QTSA_VERSION));
    FORKED(qtsa_set_log_callback(NULL, NULL));
    FORKED(qtsa_tensor_bytes(QTSA_DTYPE_F32, shape, 2, &n));
    CHECK(n == 0);
    FORKED(qtsa_backend_create(NULL, &backend));
    CHECK(backend == NULL);
    FORKED(qtsa_backend_free(m.backend));
    n = 7;
    FORKED(qtsa_backend_report_copy(m.backend, QTSA_FORMAT_TEXT, text, sizeof text, &n));
    CHECK(n == 0);
    FORKED(qtsa_devices_list(NULL, NULL, 0, &n));
    FORKED(qtsa_devices_report_copy(NULL, QTSA_FORMAT_TEXT, text, sizeof text, &n));
    FORKED(qtsa_weights_create(&weights));
    CHECK(weights == NULL);
    FORKED(qtsa_weights_open("x", NULL, &weights));
    memory.tensors = 7;
    FORKED(qtsa_weights_plan_memory("x", NULL, &memory));
    CHECK(memory.tensors == 0);
    FORKED(qtsa_weights_report_copy(m.weights, QTSA_FORMAT_TEXT, text, sizeof text, &n));
    FORKED(qtsa_weights_save(m.weights, "x", NULL, 0, NULL, NULL));
    FORKED(qtsa_weights_upload(m.weights, m.backend, NULL));
    FORKED(qtsa_weights_device_bytes(m.weights, m.backend, &device_bytes));
    FORKED(qtsa_weights_free(m.weights));
    FORKED(qtsa_weights_add(m.weights, "z", NULL));
    FORKED(qtsa_weights_set(m.weights, "weight", NULL));
    FORKED(qtsa_weights_add_split(m.weights, "z", NULL, 0, &report));
    CHECK(report.dtype == 0);
    FORKED(qtsa_weights_count(m.weights, &n, &keys));
    FORKED(qtsa_weights_info(m.weights, NULL, 0, &info));
    CHECK(info.dtype == 0 && info.rank == 0 && info.shape[0] == 0 && info.bytes == 0);
    FORKED(qtsa_weights_name_copy(m.weights, QTSA_NAME_TENSOR, 0, text, sizeof text, &n));
    FORKED(qtsa_weights_metadata_info(m.weights, "k", &metadata_info));
    FORKED(qtsa_weights_metadata_get(m.weights, "k", QTSA_METADATA_INT, &metadata_int, 1, &n));
    FORKED(qtsa_weights_metadata_copy(m.weights, "k", QTSA_WHOLE, text, sizeof text, &n));
    FORKED(qtsa_graph_create("g", &graph));
    CHECK(graph == NULL);
    FORKED(qtsa_graph_free(m.graph));
    FORKED(qtsa_graph_dim(m.graph, "t", 1, 2, &dim));
    CHECK(dim == 0);
    FORKED(qtsa_graph_dim_op(m.graph, QTSA_DIM_ADD, 1, 2, &dim));
    FORKED(qtsa_graph_dim_text_copy(m.graph, 1, text, sizeof text, &n));
    FORKED(qtsa_graph_input(m.graph, "x", QTSA_DTYPE_F32, shape, 2, &t));
    CHECK(t == 0);
    FORKED(qtsa_graph_weight(m.graph, m.weights, "weight", &t));
    FORKED(qtsa_graph_state(m.graph, "s", QTSA_DTYPE_F32, shape, 2, &t));
    FORKED(qtsa_graph_op(m.graph, "relu", &t, 1, NULL, 0, &t, 1));
    FORKED(qtsa_graph_output(m.graph, "z", 0));
    FORKED(qtsa_graph_info(m.graph, 0, &info));
    FORKED(qtsa_session_create(m.backend, &session));
    CHECK(session == NULL);
    FORKED(qtsa_session_free(m.session));
    FORKED(qtsa_session_reset(m.session));
    FORKED(qtsa_session_read(m.session, "s", 0, y, 4));
    FORKED(qtsa_session_write(m.session, "s", 0, y, 4));
    FORKED(qtsa_session_cancel(m.session));
    FORKED(qtsa_plan_create(m.session, m.graph, NULL, &plan));
    CHECK(plan == NULL);
    FORKED(qtsa_plan_free(m.plan));
    FORKED(qtsa_plan_find(m.plan, QTSA_INPUT, "x", &n));
    FORKED(qtsa_plan_prepare(m.plan, NULL, 0));
    FORKED(qtsa_plan_info(m.plan, QTSA_INPUT, 0, NULL, 0, &info));
    FORKED(qtsa_plan_run(m.plan, NULL, 0, NULL, 0, NULL));
    FORKED(qtsa_plan_placement_copy(m.plan, QTSA_FORMAT_TEXT, text, sizeof text, &n));
    operator_level_calls();
    FORKED(qtsa_backend_create(NULL, NULL));
    FORKED(qtsa_plan_free(NULL));

    /* These cannot fail, and say what they always say. */
    CHECK(strcmp(qtsa_status_name(QTSA_ERR_FORKED), "FORKED") == 0);
    CHECK(strcmp(qtsa_dtype_name(QTSA_DTYPE_F16), "f16") == 0);
    CHECK(qtsa_version() > 0);
}

static pid_t child_of(void (*body)(void)) {
    pid_t child;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child > 0) return child;
    alarm(10); /* a call that hangs ends the child */
    body();
    exit(0); /* with the library's destructors, which must not hang either */
}

static void ends_well(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void grandchild(void) { ends_well(child_of(every_function)); }

static void execute(void) { execl("/proc/self/exe", "fork", "again", (char *)NULL); }

static volatile int stop;

static void *keep_running(void *unused) {
    (void)unused;
    while (!stop) MODEL_RUNS(m.plan);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int i;
    (void)argv;
    if (argc == 1) {
        /* Before the library was used at all, but after it was loaded. */
        ends_well(child_of(every_function));
    }
    model_open(&m);
    MODEL_RUNS(m.plan);
    if (argc > 1) return 0;

    ends_well(child_of(every_function));
    MODEL_RUNS(m.plan);
    ends_well(child_of(grandchild));
    ends_well(child_of(execute));
    MODEL_RUNS(m.plan);

    /* While another thread is inside the library. */
    CHECK(pthread_create(&thread, NULL, keep_running, NULL) == 0);
    for (i = 0; i < 20; i++) ends_well(child_of(every_function));
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);

    MODEL_RUNS(m.plan);
    model_free(&m);
    printf("ok\n");
    return 0;
}
