/* Steps for the header's sections Graph, Session and Plan. */
#ifndef FUZZCALLS_STEPS_GRAPH_H
#define FUZZCALLS_STEPS_GRAPH_H

#include <vector>

#include "steps.h"

static void step_qtsa_graph_create(Thread &t) {
    const Out<qtsa_graph> out = t.out<qtsa_graph>();
    if (t.CALL(qtsa_graph_create, t.name(), out) == QTSA_OK) t.keep(GRAPH, out.value());
}

static void step_qtsa_graph_free(Thread &t) { t.CALL(qtsa_graph_free, t.graph()); }

/* Keeps a dimension, or an expression, that a graph has. */
static void keep_dim(Thread &t, qtsa_graph g, qtsa_status s, Out<int64_t> out) {
    if (s == QTSA_OK && t.known(g).dims.size() < 16) t.known(g).dims.push_back(out.value());
}

static void step_qtsa_graph_dim(Thread &t) {
    const qtsa_graph g = t.graph();
    const int64_t least = t.number();
    const int64_t most = t.random.chance(70) && least < 10 ? least + t.random.between(0, 6) : t.number();
    const Out<int64_t> out = t.out<int64_t>();
    keep_dim(t, g, t.CALL(qtsa_graph_dim, g, t.name(), least, most, out), out);
}

static void step_qtsa_graph_dim_op(Thread &t) {
    const qtsa_graph g = t.graph();
    const int64_t a = t.random.chance(80) ? t.dim(g) : t.number(), b = t.random.chance(40) ? t.dim(g) : t.number();
    const Out<int64_t> out = t.out<int64_t>();
    keep_dim(t, g, t.CALL(qtsa_graph_dim_op, g, t.random.chance(95) ? 1 + t.flag(3) : t.flag(5), a, b, out), out);
}

static void step_qtsa_graph_dim_text_copy(Thread &t) {
    const qtsa_graph g = t.graph();
    COPY(qtsa_graph_dim_text_copy, g, t.random.chance(80) ? t.dim(g) : t.number());
}

/* Keeps a tensor of a graph. */
static bool keep_tensor(Thread &t, qtsa_graph g, qtsa_status s, Out<qtsa_tensor> out) {
    if (s != QTSA_OK) return false;
    if (t.known(g).tensors.size() < 24) t.known(g).tensors.push_back(out.value());
    return true;
}

/* A shape of few sizes, so that tensors fit together now and then. */
static const int64_t *plain_shape(Thread &t, qtsa_graph g, int32_t *rank) {
    static const int64_t sizes[] = {1, 2, 4, 4, 32};
    if (t.random.chance(25)) return t.shape(rank);
    *rank = static_cast<int32_t>(t.random.between(0, QTSA_MAX_RANK));
    int64_t *p = t.memory<int64_t>(static_cast<size_t>(*rank));
    for (int32_t i = 0; i < *rank; i++) p[i] = t.random.chance(10) ? t.dim(g) : t.random.of(sizes);
    return p;
}

static bool add_input(Thread &t, qtsa_graph g, const char *name, qtsa_dtype dtype) {
    int32_t rank;
    const int64_t *shape = plain_shape(t, g, &rank);
    const Out<qtsa_tensor> out = t.out<qtsa_tensor>();
    return keep_tensor(t, g, t.CALL(qtsa_graph_input, g, name, dtype, shape, rank, out), out);
}

static void step_qtsa_graph_input(Thread &t) {
    add_input(t, t.graph(), t.name(), t.random.chance(70) ? QTSA_DTYPE_F32 : t.dtype());
}

static void step_qtsa_graph_weight(Thread &t) {
    const qtsa_graph g = t.graph();
    const Out<qtsa_tensor> out = t.out<qtsa_tensor>();
    keep_tensor(t, g, t.CALL(qtsa_graph_weight, g, t.weights(), t.name(), out), out);
}

static void step_qtsa_graph_state(Thread &t) {
    const qtsa_graph g = t.graph();
    int32_t rank;
    const int64_t *shape = plain_shape(t, g, &rank);
    const qtsa_dtype dtype = t.random.chance(70) ? QTSA_DTYPE_F32 : t.dtype();
    const Out<qtsa_tensor> out = t.out<qtsa_tensor>();
    keep_tensor(t, g, t.CALL(qtsa_graph_state, g, t.name(), dtype, shape, rank, out), out);
}

static bool random_op(Thread &t, qtsa_graph g) {
    const Operator *op = any_operator(t);
    size_t n_attrs, n = 0;
    const qtsa_attr *attrs = attributes_of(t, op, &n_attrs, g);
    qtsa_tensor *in = t.memory<qtsa_tensor>(8), *out = t.memory<qtsa_tensor>(4);
    for (size_t i = 0; i < 8 && (op->inputs[i].most_rank != 0 || t.random.chance(1)); i++) {
        if (op->inputs[i].optional && t.random.chance(50)) {
            in[n++] = QTSA_NONE;
            continue;
        }
        in[n++] = t.tensor(g);
        while (op->inputs[i].variadic && n < 4 && t.random.chance(60)) in[n++] = t.tensor(g);
        if (op->inputs[i].variadic) break;
    }
    const size_t n_out = t.random.chance(97) ? op->outputs : t.claim(t.random.below(4));
    const size_t n_in = t.random.chance(97) ? n : t.claim(n);
    const char *name = t.random.chance(98) ? op->name : t.name();
    if (t.CALL(qtsa_graph_op, g, name, t.random.chance(98) ? in : nullptr, n_in, attrs, n_attrs,
               t.random.chance(98) ? out : nullptr, n_out) != QTSA_OK)
        return false;
    for (size_t i = 0; i < n_out && i < 4; i++) keep_tensor(t, g, QTSA_OK, {&out[i]});
    return true;
}

static void step_qtsa_graph_op(Thread &t) { random_op(t, t.graph()); }

static void step_qtsa_graph_output(Thread &t) {
    const qtsa_graph g = t.graph();
    t.CALL(qtsa_graph_output, g, t.name(), t.tensor(g));
}

static void step_qtsa_graph_info(Thread &t) {
    const qtsa_graph g = t.graph();
    t.CALL(qtsa_graph_info, g, t.tensor(g), t.out<qtsa_tensor_info>());
}

static void step_qtsa_session_create(Thread &t) {
    const Out<qtsa_session> out = t.out<qtsa_session>();
    if (t.CALL(qtsa_session_create, t.backend(), out) == QTSA_OK) t.keep(SESSION, out.value());
}

static void step_qtsa_session_free(Thread &t) { t.CALL(qtsa_session_free, t.session()); }

static void step_qtsa_session_reset(Thread &t) { t.CALL(qtsa_session_reset, t.session()); }

static size_t offset(Thread &t) {
    static const size_t some[] = {0, 0, 4, 1, 64, SIZE_MAX, size_t(1) << 62, SIZE_MAX - 3};
    return t.random.of(some);
}

static void step_qtsa_session_read(Thread &t) {
    const size_t n = t.random.below(300);
    void *p = t.random.chance(3) ? nullptr : t.memory<char>(n);
    const size_t bytes = t.random.chance(95) ? n : t.random.chance(50) ? SIZE_MAX : size_t(1) << 62;
    t.CALL(qtsa_session_read, t.session(), t.name(), offset(t), p, bytes);
}

static void step_qtsa_session_write(Thread &t) {
    const size_t n = t.random.below(300);
    const void *p = t.random.chance(3) ? nullptr : t.content(QTSA_DTYPE_F32, n);
    const size_t bytes = t.random.chance(95) ? n : t.random.chance(50) ? SIZE_MAX : size_t(1) << 62;
    t.CALL(qtsa_session_write, t.session(), t.name(), offset(t), p, bytes);
}

static void step_qtsa_session_cancel(Thread &t) { t.CALL(qtsa_session_cancel, t.session()); }

static const qtsa_plan_options *plan_options(Thread &t) {
    static const int32_t instances[] = {0, 0, 1, 2, -1, INT32_MAX, INT32_MIN};
    qtsa_plan_options *o = options_of<qtsa_plan_options>(t, sizeof *o);
    if (o == nullptr || o->struct_size != sizeof *o) return o;
    o->max_instances = t.random.of(instances);
    o->strict = t.random.chance(10);
    return o;
}

static qtsa_plan create_plan(Thread &t, qtsa_session s, qtsa_graph g) {
    const qtsa_plan_options *o = plan_options(t);
    const Out<qtsa_plan> out = t.out<qtsa_plan>();
    if (t.CALL(qtsa_plan_create, s, g, o, out) != QTSA_OK) return nullptr;
    t.keep(PLAN, out.value());
    return out.value();
}

static void step_qtsa_plan_create(Thread &t) { create_plan(t, t.session(), t.graph()); }

static void step_qtsa_plan_free(Thread &t) { t.CALL(qtsa_plan_free, t.plan()); }

/* Values of dynamic dimensions. */
static const int64_t *any_dims(Thread &t, size_t *n) {
    *n = t.random.chance(70) ? 0 : t.random.below(4);
    int64_t *p = t.memory<int64_t>(*n);
    for (size_t i = 0; i < *n; i++) p[i] = t.number();
    if (t.random.chance(2)) return nullptr;
    if (t.random.chance(2)) *n = SIZE_MAX;
    return p;
}

static int32_t port_kind(Thread &t) {
    return t.random.chance(95) ? static_cast<int32_t>(t.random.between(1, 2)) : t.flag(3);
}

static void step_qtsa_plan_find(Thread &t) {
    t.CALL(qtsa_plan_find, t.plan(), port_kind(t), t.name(), t.out<size_t>());
}

static void step_qtsa_plan_info(Thread &t) {
    size_t n;
    const int64_t *dims = any_dims(t, &n);
    const size_t index = t.random.chance(90) ? t.random.below(3) : static_cast<size_t>(t.number());
    t.CALL(qtsa_plan_info, t.plan(), port_kind(t), index, dims, n, t.out<qtsa_tensor_info>());
}

static void step_qtsa_plan_prepare(Thread &t) {
    size_t n;
    const int64_t *dims = any_dims(t, &n);
    t.CALL(qtsa_plan_prepare, t.plan(), dims, n);
}

/* Runs a plan with inputs and outputs of the right number and size, mostly. */
static void run_plan(Thread &t, qtsa_plan p) {
    static const int32_t threads[] = {0, 0, 1, 1, 2, 3, -1, INT32_MIN};
    size_t n_dims;
    const int64_t *dims = any_dims(t, &n_dims);
    qtsa_input *in = t.memory<qtsa_input>(6);
    qtsa_output *out = t.memory<qtsa_output>(6);
    size_t n_in = 0, n_out = 0;
    const Out<qtsa_tensor_info> info = t.out<qtsa_tensor_info>(0);
    while (n_in < 6 && t.CALL(qtsa_plan_info, p, int32_t(QTSA_INPUT), n_in, dims, n_dims, info) == QTSA_OK) {
        qtsa_input &i = in[n_in++];
        i.bytes = static_cast<size_t>(info.p->bytes);
        if (t.random.chance(4)) i.bytes = t.random.below(64);
        i.data = i.bytes > Guarded::most || t.random.chance(3) ? nullptr : t.content(info.p->dtype, i.bytes);
        if (i.data != nullptr && t.random.chance(2)) i.bytes = SIZE_MAX;
    }
    while (n_out < 6 && t.CALL(qtsa_plan_info, p, int32_t(QTSA_OUTPUT), n_out, dims, n_dims, info) == QTSA_OK) {
        qtsa_output &o = out[n_out++];
        o.bytes = static_cast<size_t>(info.p->bytes);
        if (t.random.chance(4)) o.bytes = t.random.below(64);
        o.data = o.bytes > Guarded::most || t.random.chance(5) ? nullptr : t.memory<char>(o.bytes);
        if (o.data != nullptr && t.random.chance(2)) o.bytes = SIZE_MAX;
    }
    qtsa_run_options *o = n_dims == 0 ? options_of<qtsa_run_options>(t, sizeof *o) : t.memory<qtsa_run_options>(1);
    if (o != nullptr && (n_dims != 0 || o->struct_size == sizeof *o)) {
        o->struct_size = sizeof *o;
        o->dims = dims;
        o->n_dims = n_dims;
        o->threads = t.random.of(threads);
        if (t.random.chance(2)) o->reserved = 1;
        if (t.random.chance(30)) o->timing = t.memory<qtsa_timing>(1);
    }
    for (int runs = t.random.chance(30) ? 3 : 1; runs > 0; runs--)
        t.CALL(qtsa_plan_run, p, t.random.chance(98) ? in : nullptr, t.random.chance(97) ? n_in : t.claim(n_in),
               t.random.chance(98) ? out : nullptr, t.random.chance(97) ? n_out : t.claim(n_out), o);
}

static void step_qtsa_plan_run(Thread &t) { run_plan(t, t.plan()); }

static void step_qtsa_plan_placement_copy(Thread &t) { COPY(qtsa_plan_placement_copy, t.plan(), t.flag(1)); }

/* A graph of operators as they come, whose tensors become outputs, and runs of it. */
static void compose(Thread &t) {
    static const char *const names[] = {"a", "b", "x", "w", "n"};
    const Out<qtsa_graph> made = t.out<qtsa_graph>(0);
    if (t.CALL(qtsa_graph_create, "composed", made) != QTSA_OK) return;
    const qtsa_graph g = made.value();
    t.keep(GRAPH, g);
    int tensors = 0;
    for (int64_t i = t.random.between(1, 3); i > 0; i--)
        tensors += add_input(t, g, names[i], t.random.chance(85) ? QTSA_DTYPE_F32 : QTSA_DTYPE_I32);
    for (int i = 0; i < 24 && tensors < 12; i++) {
        t.renew();
        tensors += random_op(t, g);
    }
    t.renew();
    for (int i = 0; i < 3 && tensors > 0; i++) t.CALL(qtsa_graph_output, g, names[i], t.tensor(g));
    qtsa_session s = t.session();
    const Out<qtsa_session> own = t.out<qtsa_session>(0);
    if (t.random.chance(50) && t.CALL(qtsa_session_create, t.main_backend(), own) == QTSA_OK) {
        s = own.value();
        t.keep(SESSION, s);
    }
    const qtsa_plan p = create_plan(t, s, g);
    if (p == nullptr) return;
    t.renew();
    run_plan(t, p);
}

#endif
