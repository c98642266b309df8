/*
 * The first plan of a process finds the kernels of all operators: they are there as soon
 * as the library is loaded. strict allows nothing but the device's own.
 */
#include "check.h"

int main(void) {
    const int64_t shape[] = {4};
    const float in[] = {1, -2, 3, -4};
    const qtsa_attr k = qtsa_attr_int("k", 2), axis = qtsa_attr_int("axis", 0);
    const qtsa_attr bounds[] = {qtsa_attr_float("min", -3), qtsa_attr_float("max", 3)};
    float largest[2];
    int32_t place[2];
    const qtsa_input input = {in, sizeof in};
    const qtsa_output outputs[] = {{largest, sizeof largest}, {place, sizeof place}};
    qtsa_backend_options o = qtsa_backend_options_init();
    qtsa_plan_options strict = qtsa_plan_options_init();
    qtsa_backend backend;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    qtsa_tensor x[2], joined, top[2];
    o.backend = "cpu";
    strict.strict = 1;
    OK(qtsa_backend_create(&o, &backend));
    OK(qtsa_graph_create("first", &graph));
    OK(qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 1, &x[0]));
    x[1] = x[0];
    OK(qtsa_graph_op(graph, "concat", x, 2, &axis, 1, &joined, 1));
    OK(qtsa_graph_op(graph, "clamp", &joined, 1, bounds, 2, &joined, 1));
    OK(qtsa_graph_op(graph, "top_k", &joined, 1, &k, 1, top, 2));
    OK(qtsa_graph_output(graph, "largest", top[0]));
    OK(qtsa_graph_output(graph, "place", top[1]));
    OK(qtsa_session_create(backend, &session));
    OK(qtsa_plan_create(session, graph, &strict, &plan));
    OK(qtsa_plan_run(plan, &input, 1, outputs, 2, NULL));
    CHECK(largest[0] == 3 && largest[1] == 3 && place[0] == 2 && place[1] == 6);
    OK(qtsa_plan_free(plan));
    OK(qtsa_session_free(session));
    OK(qtsa_graph_free(graph));
    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
