/*
 * A program of the first version, 0.2: compiled against that version's header, whose
 * options may be smaller, and run on the library as it is. Beyond the end of each options struct
 * lies memory that nobody may touch.
 */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "../../c/programs/model.h"

/* size bytes that end where memory ends. */
static void *at_the_brink(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK(mprotect(pages + page, page, PROT_NONE) == 0);
    return pages + page - size;
}

int main(void) {
    qtsa_backend_options *o = at_the_brink(sizeof *o);
    qtsa_plan_options *po = at_the_brink(sizeof *po);
    qtsa_run_options *ro = at_the_brink(sizeof *ro);
    qtsa_timing timing = {0, 0, 0};
    float x[3][4] = {{1, -2, 3, 0.5f}, {0, 1, -1, 2}, {0, 0, 0, 0}}, y[3][3];
    const qtsa_input in = {x, sizeof x};
    const qtsa_output out = {y, sizeof y};
    int64_t shape[2], rows = 3;
    qtsa_tensor t[3], sum, kept;
    qtsa_tensor_info info;
    qtsa_backend backend;
    qtsa_weights w = model_weights();
    qtsa_graph g;
    qtsa_session session;
    qtsa_plan plan;
    char report[4096];
    size_t n;
    int i;

    CHECK(sizeof *o == 72 && sizeof *po == 16 && sizeof *ro == 40);
    CHECK(qtsa_version() >= QTSA_VERSION_MAJOR * 10000 + QTSA_VERSION_MINOR * 100 + QTSA_VERSION_PATCH);
    *o = qtsa_backend_options_init();
    CHECK(o->struct_size == 72 && o->backend == NULL && o->threads == 0);
    o->threads = 1;
    OK(qtsa_backend_create(o, &backend));
    OK(qtsa_backend_report_copy(backend, QTSA_FORMAT_JSON, report, sizeof report, &n));
    CHECK(n == strlen(report) + 1);

    OK(qtsa_graph_create("first", &g));
    OK(qtsa_graph_dim(g, "rows", 1, 8, &shape[0]));
    shape[1] = 4;
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &t[0]));
    OK(qtsa_graph_weight(g, w, "weight", &t[1]));
    OK(qtsa_graph_weight(g, w, "bias", &t[2]));
    OK(qtsa_graph_op(g, "linear", t, 3, NULL, 0, &sum, 1));
    OK(qtsa_graph_op(g, "relu", &sum, 1, NULL, 0, &sum, 1));
    shape[0] = 3;
    OK(qtsa_graph_state(g, "kept", QTSA_DTYPE_F32, shape, 1, &t[0]));
    t[1] = t[2];
    OK(qtsa_graph_op(g, "state_write", t, 2, NULL, 0, &kept, 1));
    OK(qtsa_graph_output(g, "y", sum));
    OK(qtsa_graph_info(g, sum, &info));
    CHECK(info.rank == 2 && info.shape[0] == -1 && info.shape[1] == 3);

    OK(qtsa_session_create(backend, &session));
    *po = qtsa_plan_options_init();
    po->max_instances = 2;
    OK(qtsa_plan_create(session, g, po, &plan));
    *ro = qtsa_run_options_init();
    ro->dims = &rows;
    ro->n_dims = 1;
    ro->threads = 1;
    ro->timing = &timing;
    OK(qtsa_plan_run(plan, &in, 1, &out, 1, ro));
    CHECK(model_right((const float(*)[3])y, 1));
    for (i = 0; i < 3; i++) CHECK(y[2][i] == (model_bias[i] > 0 ? model_bias[i] : 0));
    CHECK(timing.compute_ns > 0);
    OK(qtsa_session_read(session, "kept", 0, y, sizeof model_bias));
    CHECK(memcmp(y, model_bias, sizeof model_bias) == 0);
    OK(qtsa_plan_placement_copy(plan, QTSA_FORMAT_TEXT, report, sizeof report, &n));
    CHECK(strstr(report, "linear") != NULL);
    REFUSED(QTSA_ERR_SHAPE_MISMATCH, qtsa_plan_run(plan, &(qtsa_input){x, 4}, 1, &out, 1, ro), "\"x\"", "4", "48");

    OK(qtsa_plan_free(plan));
    OK(qtsa_session_free(session));
    OK(qtsa_graph_free(g));
    OK(qtsa_weights_free(w));
    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
