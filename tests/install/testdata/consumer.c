/* A program of another project: doubles numbers on the CPU, and tells the library's
 * version. Its argument, if any, is the folder of the plugins. */
#include <qtsaccel.h>
#include <stdio.h>

#define CHECK(call)                                     \
    do {                                                \
        if ((call) != QTSA_OK) {                        \
            fprintf(stderr, "%s\n", qtsa_last_error()); \
            return 1;                                   \
        }                                               \
    } while (0)

int main(int argc, char **argv) {
    qtsa_backend_options options = {0};
    qtsa_backend backend;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor x, y;
    const int64_t shape[] = {3};
    const float in[3] = {1, 2, 3};
    float out[3] = {0};
    qtsa_attr twice = qtsa_attr_float("scale", 2);
    qtsa_input from = {in, sizeof in};
    qtsa_output to = {out, sizeof out};

    options.struct_size = sizeof options;
    options.backend = "cpu";
    options.plugin_dir = argc > 1 ? argv[1] : NULL;
    CHECK(qtsa_backend_create(&options, &backend));
    CHECK(qtsa_graph_create("consumer", &graph));
    CHECK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 1, &x));
    CHECK(qtsa_graph_op(graph, "scale", &x, 1, &twice, 1, &y, 1));
    CHECK(qtsa_graph_output(graph, "y", y));
    CHECK(qtsa_session_create(backend, &session));
    CHECK(qtsa_plan_create(session, graph, NULL, &plan));
    CHECK(qtsa_plan_run(plan, &from, 1, &to, 1, NULL));
    printf("%d: %g %g %g\n", (int)qtsa_version(), (double)out[0], (double)out[1], (double)out[2]);
    return 0;
}
