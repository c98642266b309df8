/* Steps for the header's section Operator-level calls. */
#ifndef FUZZCALLS_STEPS_OPLEVEL_H
#define FUZZCALLS_STEPS_OPLEVEL_H

#include "steps.h"
#include "steps_weights.h"

/* More elements than any memory has: to be refused, whatever they belong to. */
static const int64_t far_sizes[] = {INT64_MAX, INT64_C(1) << 60, INT64_C(1) << 48, INT64_MIN, -1};

static void step_qtsa_matrix_create(Thread &t) {
    qtsa_matrix_desc *d = options_of<qtsa_matrix_desc>(t, sizeof *d);
    if (d != nullptr && d->struct_size == sizeof *d) {
        const size_t how = t.random.below(20);
        if (how < 12 || how == 19) {
            static const qtsa_dtype types[] = {1, 1, 2, 3, 32, 33, 36};
            static const int64_t sizes[] = {1, 2, 4, 32, 32, 64};
            d->dtype = t.random.chance(90) ? t.random.of(types) : t.dtype();
            d->rank = static_cast<int32_t>(t.random.chance(80) ? 2 : t.random.between(0, 5));
            for (int64_t &s : d->shape) s = t.random.chance(97) ? t.random.of(sizes) : t.dimension();
            for (int32_t i = d->rank < 0 ? 0 : d->rank; i < QTSA_MAX_RANK; i++)
                d->shape[i] = t.random.chance(98) ? 0 : 1;
            d->bytes = Thread::bytes_of(d->dtype, d->shape, d->rank);
            d->data = d->bytes == 0 ? nullptr : t.content(d->dtype, d->bytes);
            if (d->data != nullptr && t.random.chance(3)) d->bytes = t.random.chance(50) ? SIZE_MAX : d->bytes - 1;
        }
        if ((how >= 12 && how < 16) || how == 19) {
            d->weights = t.weights();
            d->name = t.name();
        }
        if (how >= 16 && how < 19) {
            d->split = split_matrix(t);
            static const qtsa_dtype types[] = {0, 0, 1, 2, 32, 33, 50};
            d->dtype = t.random.of(types);
            if (t.random.chance(50)) d->report = t.memory<qtsa_split_report>(1);
        }
    }
    const qtsa_backend b = t.backend();
    const Out<qtsa_matrix> out = t.out<qtsa_matrix>();
    if (t.CALL(qtsa_matrix_create, b, d, out) == QTSA_OK) t.keep(MATRIX, out.value());
}

static void step_qtsa_matrix_free(Thread &t) { t.CALL(qtsa_matrix_free, t.matrix()); }

static void step_qtsa_matrix_bytes(Thread &t) { t.CALL(qtsa_matrix_bytes, t.matrix(), t.out<uint64_t>()); }

/* A matrix is whatever another thread has made it: so the sizes here are bound to those
 * for which there is memory, whatever the matrix. */
static void step_qtsa_matmul(Thread &t) {
    static const int64_t depths[] = {1, 2, 4, 32, 32, 64};
    const size_t n_products = t.random.chance(70) ? 1 : t.random.below(4);
    int64_t rows = t.random.between(0, 5), depth = t.random.of(depths);
    const float *x = static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(rows * depth * 4)));
    qtsa_product *products = t.memory<qtsa_product>(n_products);
    if (n_products > 0) products->struct_size = t.random.chance(98) ? sizeof *products : 8;
    for (size_t i = 0; i < n_products; i++) {
        qtsa_product &j = products[i];
        j.weight = t.matrix();
        j.n_out = t.random.of(depths);
        if (t.random.chance(30))
            j.bias = static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(j.n_out * 4)));
        j.y = t.random.chance(2)
                  ? nullptr
                  : reinterpret_cast<float *>(t.guarded.take(t.random, static_cast<size_t>(rows * j.n_out * 4)));
        if (t.random.chance(2) && j.n_out <= depth) j.y = const_cast<float *>(x);
        j.activation = t.flag(6);
        if (t.random.chance(1)) j.reserved = 1;
        if (t.random.chance(2)) j.n_out = t.random.of(far_sizes);
    }
    if (t.random.chance(2)) rows = t.random.of(far_sizes);
    if (t.random.chance(2)) depth = t.random.of(far_sizes);
    t.CALL(qtsa_matmul, t.backend(), t.random.chance(2) ? nullptr : x, rows, depth,
           t.random.chance(98) ? products : nullptr, t.claim(n_products), t.flag(3));
}

static void step_qtsa_conv2d(Thread &t) {
    qtsa_conv2d_geometry *g = t.memory<qtsa_conv2d_geometry>(1);
    g->struct_size = t.random.chance(98) ? sizeof *g : 0;
    static const int64_t kernels[] = {1, 1, 2, 3, 4}, channels[] = {1, 2, 4, 32};
    g->h = t.random.between(1, 6);
    g->w = t.random.between(1, 6);
    g->c_in = t.random.of(channels);
    g->k = t.random.of(kernels);
    g->stride = t.random.between(1, 3);
    g->oh = (g->h + 2 * (g->k / 2) - g->k) / g->stride + 1;
    g->ow = (g->w + 2 * (g->k / 2) - g->k) / g->stride + 1;
    const float *x =
        static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(g->h * g->w * g->c_in * 4)));
    qtsa_product *j = t.memory<qtsa_product>(1);
    j->struct_size = t.random.chance(98) ? sizeof *j : SIZE_MAX;
    static const int64_t outs[] = {1, 2, 4, 32, 64};
    j->weight = t.matrix();
    j->n_out = t.random.of(outs);
    if (t.random.chance(30))
        j->bias = static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(j->n_out * 4)));
    j->activation = t.flag(6);
    const int64_t y = g->oh < 1 || g->ow < 1 ? 0 : g->oh * g->ow * j->n_out;
    j->y =
        t.random.chance(2) ? nullptr : reinterpret_cast<float *>(t.guarded.take(t.random, static_cast<size_t>(y * 4)));
    qtsa_conv2d_norm *norm = t.random.chance(60) ? nullptr : t.memory<qtsa_conv2d_norm>(1);
    if (norm != nullptr) {
        norm->struct_size = t.random.chance(98) ? sizeof *norm : 16;
        norm->kind = t.flag(2);
        norm->silu = t.flag(1);
        norm->groups = t.random.chance(80) ? 1 : t.number();
        norm->eps = t.real();
        if (t.random.chance(50))
            norm->gamma = static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(g->c_in * 4)));
        if (t.random.chance(50))
            norm->beta = static_cast<const float *>(t.content(QTSA_DTYPE_F32, static_cast<size_t>(g->c_in * 4)));
    }
    if (t.random.chance(8)) {
        int64_t *fields[] = {&g->h, &g->w, &g->c_in, &g->k, &g->stride, &g->oh, &g->ow, &j->n_out};
        *t.random.of(fields) = t.random.of(far_sizes);
    }
    t.CALL(qtsa_conv2d, t.backend(), t.random.chance(2) ? nullptr : x, t.random.chance(1) ? nullptr : g, norm,
           t.random.chance(1) ? nullptr : j, t.flag(3));
}

static void step_qtsa_attention(Thread &t) {
    static const double scales[] = {0, 0, 1, 0.125};
    int64_t sizes[] = {t.random.between(0, 4), t.random.between(1, 6), 2, 1, 0};
    if (t.random.chance(50)) sizes[2] = sizes[3] = t.random.between(1, 3);
    sizes[4] = t.random.chance(70) ? 4 : t.random.between(1, 40);
    const size_t nq = static_cast<size_t>(sizes[0] * sizes[2] * sizes[4] * 4),
                 nk = static_cast<size_t>(sizes[1] * sizes[3] * sizes[4] * 4);
    float *in[] = {static_cast<float *>(t.content(QTSA_DTYPE_F32, nq)),
                   static_cast<float *>(t.content(QTSA_DTYPE_F32, nk)),
                   static_cast<float *>(t.content(QTSA_DTYPE_F32, nk))};
    float *out = reinterpret_cast<float *>(t.guarded.take(t.random, nq));
    for (float *&p : in)
        if (t.random.chance(1)) p = nullptr;
    if (t.random.chance(2)) out = in[0];
    const int32_t causal = t.flag(1);
    const int64_t window = t.random.chance(80) ? 0 : t.number();
    if (t.random.chance(5)) sizes[t.random.below(5)] = t.random.of(far_sizes);
    qtsa_attention_desc *d = t.memory<qtsa_attention_desc>(1);
    d->struct_size = t.random.chance(98) ? sizeof *d : 40;
    d->q = in[0], d->k = in[1], d->v = in[2], d->out = out;
    d->tq = sizes[0], d->tk = sizes[1], d->heads = sizes[2], d->kv_heads = sizes[3], d->head_dim = sizes[4];
    d->causal = causal, d->window = window;
    d->scale = t.random.chance(80) ? t.random.of(scales) : t.real();
    if (t.random.chance(1)) d->reserved = 1;
    t.CALL(qtsa_attention, t.backend(), t.random.chance(1) ? nullptr : static_cast<const qtsa_attention_desc *>(d),
           t.flag(3));
}

static qtsa_operand operand(Thread &t, qtsa_dtype dtype) {
    static const int64_t sizes[] = {1, 2, 4, 4, 32};
    qtsa_operand o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    if (t.random.chance(10)) {
        o.matrix = t.matrix();
        return o;
    }
    o.dtype = dtype;
    o.rank = static_cast<int32_t>(t.random.between(0, QTSA_MAX_RANK));
    for (int32_t i = 0; i < o.rank; i++) o.shape[i] = t.random.of(sizes);
    const size_t bytes = Thread::bytes_of(o.dtype, o.shape, o.rank);
    o.data = bytes == 0 ? nullptr : t.content(o.dtype, bytes);
    switch (t.random.below(60)) {
        case 0:
            o.rank = t.random.chance(50) ? -1 : 5;
            break;
        case 1:
            o.data = nullptr;
            break;
        case 2:
            if (o.rank > 0) o.shape[0] = t.random.of(far_sizes);
            break;
        case 3:
            o.dtype = t.random.chance(50) ? -3 : 9999;
            break;
    }
    return o;
}

/* An operator on operands of few shapes. Which shapes its results have a graph says,
 * mostly, so that many calls are right. */
static void step_qtsa_op_run(Thread &t) {
    const Operator *op = any_operator(t);
    size_t n_attrs, n = 0;
    const qtsa_attr *attrs = attributes_of(t, op, &n_attrs);
    qtsa_operand *in = t.memory<qtsa_operand>(8), *out = t.memory<qtsa_operand>(4);
    const Out<qtsa_graph> g = t.out<qtsa_graph>(0);
    qtsa_tensor *tensors = t.memory<qtsa_tensor>(8), *results = t.memory<qtsa_tensor>(4);
    const bool asks = t.random.chance(85) && t.CALL(qtsa_graph_create, nullptr, g) == QTSA_OK;
    for (size_t i = 0; i < 8 && op->inputs[i].most_rank != 0; i++) {
        if (op->inputs[i].optional && t.random.chance(60)) {
            tensors[n] = QTSA_NONE;
            memset(&in[n], 0, sizeof *in);
            in[n++].struct_size = sizeof *in;
            continue;
        }
        do {
            in[n] = operand(t, op->inputs[i].dtypes == 3 ? QTSA_DTYPE_I32 : QTSA_DTYPE_F32);
            tensors[n] = QTSA_NONE;
            if (asks && in[n].matrix == nullptr) {
                char name[] = {static_cast<char>('0' + n), 0};
                const Out<qtsa_tensor> made = t.out<qtsa_tensor>(0);
                if (t.CALL(qtsa_graph_input, g.value(), name, in[n].dtype, in[n].shape, in[n].rank, made) == QTSA_OK)
                    tensors[n] = made.value();
            }
            n++;
        } while (op->inputs[i].variadic && n < 4 && t.random.chance(60));
    }
    size_t n_out = op->outputs < 4 ? op->outputs : 4;
    for (size_t i = 0; i < n_out; i++) out[i] = operand(t, QTSA_DTYPE_F32);
    if (asks && t.CALL(qtsa_graph_op, g.value(), op->name, tensors, n, attrs, n_attrs, results, n_out) == QTSA_OK)
        for (size_t i = 0; i < n_out; i++) {
            const Out<qtsa_tensor_info> info = t.out<qtsa_tensor_info>(0);
            if (t.CALL(qtsa_graph_info, g.value(), results[i], info) != QTSA_OK) continue;
            memset(&out[i], 0, sizeof out[i]);
            out[i].struct_size = sizeof out[i];
            out[i].dtype = info.p->dtype;
            out[i].rank = info.p->rank;
            memcpy(out[i].shape, info.p->shape, sizeof out[i].shape);
            out[i].data =
                info.p->bytes > Guarded::most ? nullptr : t.guarded.take(t.random, static_cast<size_t>(info.p->bytes));
        }
    if (asks) t.CALL(qtsa_graph_free, g.value());
    if (n > 0 && t.random.chance(2))
        out[0].data = in[0].data != nullptr && out[0].matrix == nullptr ? out[0].data : nullptr;
    const qtsa_backend b = t.backend();
    for (int runs = t.random.chance(30) ? 2 : 1; runs > 0; runs--)
        t.CALL(qtsa_op_run, b, t.random.chance(98) ? op->name : t.name(), t.random.chance(98) ? in : nullptr,
               t.claim(n), attrs, n_attrs, t.random.chance(98) ? out : nullptr, t.claim(n_out), t.flag(3));
}

static const char *operator_name(Thread &t) { return t.random.chance(90) ? any_operator(t)->name : t.name(); }

static void step_qtsa_backend_wants(Thread &t) {
    const size_t n = t.random.between(0, 6);
    int64_t *shape = t.memory<int64_t>(n);
    for (size_t i = 0; i < n; i++) shape[i] = t.random.chance(80) ? t.random.between(1, 4096) : t.number();
    static const char *const typed[] = {"matmul", "conv2d", "attention"};
    const char *op = t.random.chance(40) ? t.random.of(typed) : operator_name(t);
    t.CALL(qtsa_backend_wants, t.backend(), op, t.random.chance(2) ? nullptr : shape, t.claim(n), t.out<int32_t>());
}

static void step_qtsa_backend_calibrate(Thread &t) {
    qtsa_calibrate_options *o = options_of<qtsa_calibrate_options>(t, sizeof *o);
    if (o != nullptr && o->struct_size == sizeof *o) {
        o->how = t.random.chance(80) ? int32_t(QTSA_CALIBRATE_KEEP) : t.flag(3);
        if (t.random.chance(3)) o->reserved = t.flag(1);
        const size_t n = t.random.below(3);
        qtsa_threshold *thresholds = t.memory<qtsa_threshold>(n);
        for (size_t i = 0; i < n; i++) thresholds[i] = {sizeof *thresholds, operator_name(t), t.real(), t.real()};
        if (n > 0 && t.random.chance(3)) thresholds->struct_size = 8;
        o->thresholds = t.random.chance(2) ? nullptr : thresholds;
        o->n_thresholds = t.claim(n);
    }
    t.CALL(qtsa_backend_calibrate, t.backend(), o);
}

static void step_qtsa_backend_stats_copy(Thread &t) {
    const int32_t format = t.flag(1);
    COPY(qtsa_backend_stats_copy, t.backend(), format, t.flag(1));
}

#endif
