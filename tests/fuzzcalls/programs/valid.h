/* What an application would do: each call must succeed, and each value is computed again. */
#ifndef FUZZCALLS_VALID_H
#define FUZZCALLS_VALID_H

#include <vector>

#include "files.h"
#include "steps.h"

/* Whether a right call succeeded; there may be no memory, which is nobody's fault. */
#define RIGHT(name, ...)                                                                                     \
    do {                                                                                                     \
        const qtsa_status s_ = t.CALL(name, __VA_ARGS__);                                                    \
        if (s_ == QTSA_ERR_OUT_OF_MEMORY) return false;                                                      \
        if (s_ != QTSA_OK)                                                                                   \
            t.violation("%s, which was right, gave %s: %s", #name, qtsa_status_name(s_), qtsa_last_error()); \
    } while (0)

/* A handle that goes at the end of its scope. */
template <class H>
struct Own {
    Thread &t;
    Kind kind;
    H h = nullptr;
    Own(Thread &t, Kind k) : t(t), kind(k) {}
    Own(const Own &) = delete;
    Own &operator=(const Own &) = delete;
    ~Own() {
        if (h != nullptr) t.free_handle(kind, Thread::bits(h));
    }
    Out<H> out() { return {&h}; }
};

inline std::vector<float> wholes(Thread &t, size_t n) {
    std::vector<float> v(n);
    for (float &f : v) f = static_cast<float>(t.random.between(-8, 8));
    return v;
}

inline void same(Thread &t, const float *got, const std::vector<double> &want, double tolerance, const char *what) {
    for (size_t i = 0; i < want.size(); i++) {
        float f;
        memcpy(&f, reinterpret_cast<const char *>(got) + 4 * i, 4); /* of any alignment */
        if (!(std::fabs(f - want[i]) <= tolerance))
            t.violation("%s: value %zu of %zu is %g, want %g", what, i, want.size(), f, want[i]);
    }
    t.trace.values += want.size();
}

/* A copy in guarded memory, of any alignment; null: there is none left. */
inline float *guarded(Thread &t, const std::vector<float> &v) {
    char *p = t.guarded.take(t.random, v.size() * 4);
    if (p != nullptr) memcpy(p, v.data(), v.size() * 4);
    return reinterpret_cast<float *>(p);
}

inline float *guarded_room(Thread &t, size_t n) {
    return reinterpret_cast<float *>(t.guarded.take(t.random, n * 4, 1, 0x7F));
}

/* y = relu(x w^T + b), and z[n] = cumsum(2 z_in) beside it on the same session. */
inline bool valid_plans(Thread &t) {
    const int64_t rows = t.random.between(1, 5), n_in = t.random.between(1, 40), n_out = t.random.between(1, 20);
    const std::vector<float> w = wholes(t, static_cast<size_t>(n_in * n_out)),
                             b = wholes(t, static_cast<size_t>(n_out));
    const int64_t w_shape[] = {n_out, n_in}, b_shape[] = {n_out}, x_shape[] = {rows, n_in};
    static const qtsa_dtype types[] = {QTSA_DTYPE_F32, QTSA_DTYPE_F16, QTSA_DTYPE_BF16};
    Own<qtsa_weights> weights(t, WEIGHTS);
    RIGHT(qtsa_weights_create, weights.out());
    const qtsa_array hollow = qtsa_array_dense(t.random.of(types), w_shape, 2, nullptr, 0),
                     w_array = qtsa_array_dense(QTSA_DTYPE_F32, w_shape, 2, guarded(t, w), w.size() * 4),
                     b_array = qtsa_array_dense(QTSA_DTYPE_F32, b_shape, 1, guarded(t, b), b.size() * 4);
    RIGHT(qtsa_weights_add, weights.h, "w", &hollow);
    RIGHT(qtsa_weights_set, weights.h, "w", &w_array);
    RIGHT(qtsa_weights_add, weights.h, "b", &b_array);

    Own<qtsa_graph> graph(t, GRAPH), sums(t, GRAPH);
    qtsa_tensor in[3], sum, y, twice, running;
    RIGHT(qtsa_graph_create, "valid", graph.out());
    RIGHT(qtsa_graph_input, graph.h, "x", QTSA_DTYPE_F32, x_shape, 2, &in[0]);
    RIGHT(qtsa_graph_weight, graph.h, weights.h, "w", &in[1]);
    RIGHT(qtsa_graph_weight, graph.h, weights.h, "b", &in[2]);
    RIGHT(qtsa_graph_op, graph.h, "linear", in, 3, nullptr, 0, &sum, 1);
    RIGHT(qtsa_graph_op, graph.h, "relu", &sum, 1, nullptr, 0, &y, 1);
    RIGHT(qtsa_graph_output, graph.h, "y", y);

    int64_t n;
    const qtsa_attr factor = qtsa_attr_float("scale", 2), axis = qtsa_attr_int("axis", 0);
    RIGHT(qtsa_graph_create, nullptr, sums.out());
    RIGHT(qtsa_graph_dim, sums.h, "n", 1, 50, &n);
    RIGHT(qtsa_graph_input, sums.h, "z", QTSA_DTYPE_F32, &n, 1, &in[0]);
    RIGHT(qtsa_graph_op, sums.h, "scale", in, 1, &factor, 1, &twice, 1);
    RIGHT(qtsa_graph_op, sums.h, "cumsum", &twice, 1, &axis, 1, &running, 1);
    RIGHT(qtsa_graph_output, sums.h, "sums", running);

    Own<qtsa_session> session(t, SESSION);
    Own<qtsa_plan> first(t, PLAN), second(t, PLAN);
    RIGHT(qtsa_session_create, t.main_backend(), session.out());
    RIGHT(qtsa_plan_create, session.h, graph.h, nullptr, first.out());
    RIGHT(qtsa_plan_create, session.h, sums.h, nullptr, second.out());
    for (int64_t runs = t.random.between(1, 4); runs > 0; runs--) {
        t.renew();
        if (t.random.chance(50)) {
            const std::vector<float> x = wholes(t, static_cast<size_t>(rows * n_in));
            std::vector<double> want;
            for (int64_t r = 0; r < rows; r++)
                for (int64_t o = 0; o < n_out; o++) {
                    double s = b[static_cast<size_t>(o)];
                    for (int64_t i = 0; i < n_in; i++)
                        s += double(x[static_cast<size_t>(r * n_in + i)]) * w[static_cast<size_t>(o * n_in + i)];
                    want.push_back(s > 0 ? s : 0);
                }
            const qtsa_input input = {guarded(t, x), x.size() * 4};
            const qtsa_output output = {guarded_room(t, want.size()), want.size() * 4};
            RIGHT(qtsa_plan_run, first.h, &input, 1, &output, 1, nullptr);
            same(t, static_cast<float *>(output.data), want, 1e-2, "relu(linear)");
        } else {
            const int64_t length = t.random.between(1, 50);
            const std::vector<float> z = wholes(t, static_cast<size_t>(length));
            std::vector<double> want;
            double s = 0;
            for (float f : z) want.push_back(s += 2 * double(f));
            const qtsa_input input = {guarded(t, z), z.size() * 4};
            const qtsa_output output = {guarded_room(t, z.size()), z.size() * 4};
            qtsa_run_options o = qtsa_run_options_init();
            o.dims = &length;
            o.n_dims = 1;
            o.threads = static_cast<int32_t>(t.random.between(0, 2));
            RIGHT(qtsa_plan_run, second.h, &input, 1, &output, 1, &o);
            same(t, static_cast<float *>(output.data), want, 1e-3, "cumsum of a dynamic length");
        }
    }
    return true;
}

/* A state that keeps what is written to it, by the application and by a plan. */
inline bool valid_state(Thread &t) {
    const int64_t length = t.random.between(1, 6), width = t.random.between(1, 40);
    const int64_t shape[] = {length, width}, row[] = {1, width}, one[] = {1};
    Own<qtsa_graph> graph(t, GRAPH);
    Own<qtsa_session> session(t, SESSION);
    Own<qtsa_plan> plan(t, PLAN);
    qtsa_tensor in[3], after;
    RIGHT(qtsa_graph_create, "state", graph.out());
    RIGHT(qtsa_graph_state, graph.h, "s", QTSA_DTYPE_F32, shape, 2, &in[0]);
    RIGHT(qtsa_graph_input, graph.h, "row", QTSA_DTYPE_F32, row, 2, &in[1]);
    RIGHT(qtsa_graph_input, graph.h, "at", QTSA_DTYPE_I32, one, 1, &in[2]);
    RIGHT(qtsa_graph_op, graph.h, "state_write", in, 3, nullptr, 0, &after, 1);
    RIGHT(qtsa_graph_output, graph.h, "after", after);
    RIGHT(qtsa_session_create, t.main_backend(), session.out());
    RIGHT(qtsa_plan_create, session.h, graph.h, nullptr, plan.out());
    std::vector<double> want(static_cast<size_t>(length * width), 0);
    const size_t bytes = want.size() * 4;
    for (int64_t runs = t.random.between(1, 5); runs > 0; runs--) {
        t.renew();
        float *got = guarded_room(t, want.size());
        switch (t.random.below(4)) {
            case 0:
                RIGHT(qtsa_session_reset, session.h);
                want.assign(want.size(), 0);
                break;
            case 1: {
                const std::vector<float> v = wholes(t, want.size());
                const size_t from = t.random.below(want.size());
                const float *data = guarded(t, v);
                RIGHT(qtsa_session_write, session.h, "s", from * 4, data, bytes - from * 4);
                for (size_t i = from; i < want.size(); i++) want[i] = double(v[i - from]);
                break;
            }
            default: {
                const std::vector<float> v = wholes(t, static_cast<size_t>(width));
                const int32_t at = static_cast<int32_t>(t.random.between(0, length - 1));
                const qtsa_input inputs[] = {{guarded(t, v), v.size() * 4}, {&at, sizeof at}};
                const qtsa_output output = {got, bytes};
                RIGHT(qtsa_plan_run, plan.h, inputs, 2, &output, 1, nullptr);
                for (size_t i = 0; i < v.size(); i++) want[static_cast<size_t>(at) * v.size() + i] = double(v[i]);
                same(t, got, want, 0, "state_write");
            }
        }
        RIGHT(qtsa_session_read, session.h, "s", 0, got, bytes);
        same(t, got, want, 0, "session_read");
    }
    return true;
}

inline bool valid_matmul(Thread &t) {
    const int64_t rows = t.random.between(1, 6), n_in = t.random.between(1, 70), n_products = t.random.between(1, 3);
    const qtsa_backend backend = t.main_backend();
    const std::vector<float> x = wholes(t, static_cast<size_t>(rows * n_in));
    std::vector<float> weights[3], biases[3];
    qtsa_product products[3];
    Own<qtsa_matrix> m0(t, MATRIX), m1(t, MATRIX), m2(t, MATRIX);
    Own<qtsa_matrix> *owned[] = {&m0, &m1, &m2};
    memset(products, 0, sizeof products);
    products[0].struct_size = sizeof products[0];
    for (int64_t j = 0; j < n_products; j++) {
        const int64_t n_out = t.random.between(1, 30);
        weights[j] = wholes(t, static_cast<size_t>(n_in * n_out));
        biases[j] = wholes(t, static_cast<size_t>(n_out));
        qtsa_matrix_desc d = qtsa_matrix_desc_init();
        d.dtype = QTSA_DTYPE_F32;
        d.rank = 2;
        d.shape[0] = n_out;
        d.shape[1] = n_in;
        d.data = guarded(t, weights[j]);
        d.bytes = weights[j].size() * 4;
        RIGHT(qtsa_matrix_create, backend, &d, owned[j]->out());
        products[j].weight = owned[j]->h;
        products[j].bias = guarded(t, biases[j]);
        products[j].n_out = n_out;
        products[j].y = guarded_room(t, static_cast<size_t>(rows * n_out));
        products[j].activation = t.random.chance(50) ? QTSA_ACTIVATION_RELU : QTSA_ACTIVATION_NONE;
    }
    RIGHT(qtsa_matmul, backend, guarded(t, x), rows, n_in, products, static_cast<size_t>(n_products), 0);
    for (int64_t j = 0; j < n_products; j++) {
        std::vector<double> want;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t o = 0; o < products[j].n_out; o++) {
                double s = biases[j][static_cast<size_t>(o)];
                for (int64_t i = 0; i < n_in; i++)
                    s += double(x[static_cast<size_t>(r * n_in + i)]) * weights[j][static_cast<size_t>(o * n_in + i)];
                want.push_back(products[j].activation == QTSA_ACTIVATION_RELU && s < 0 ? 0 : s);
            }
        same(t, products[j].y, want, 1e-2, "matmul");
    }
    return true;
}

inline bool valid_conv2d(Thread &t) {
    qtsa_conv2d_geometry g;
    g.struct_size = sizeof g;
    g.h = t.random.between(1, 7);
    g.w = t.random.between(1, 7);
    g.c_in = t.random.between(1, 9);
    g.k = t.random.between(1, 3);
    g.stride = t.random.between(1, 2);
    const int64_t pad = g.k / 2, n_out = t.random.between(1, 9);
    if (g.h + 2 * pad < g.k || g.w + 2 * pad < g.k) return true;
    g.oh = (g.h + 2 * pad - g.k) / g.stride + 1;
    g.ow = (g.w + 2 * pad - g.k) / g.stride + 1;
    const qtsa_backend backend = t.main_backend();
    const std::vector<float> x = wholes(t, static_cast<size_t>(g.h * g.w * g.c_in)),
                             w = wholes(t, static_cast<size_t>(n_out * g.k * g.k * g.c_in));
    Own<qtsa_matrix> m(t, MATRIX);
    qtsa_matrix_desc d = qtsa_matrix_desc_init();
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 4;
    const int64_t shape[] = {n_out, g.k, g.k, g.c_in};
    memcpy(d.shape, shape, sizeof shape);
    d.data = guarded(t, w);
    d.bytes = w.size() * 4;
    RIGHT(qtsa_matrix_create, backend, &d, m.out());
    qtsa_product job;
    memset(&job, 0, sizeof job);
    job.struct_size = sizeof job;
    job.weight = m.h;
    job.n_out = n_out;
    job.y = guarded_room(t, static_cast<size_t>(g.oh * g.ow * n_out));
    RIGHT(qtsa_conv2d, backend, guarded(t, x), &g, nullptr, &job, 0);
    std::vector<double> want;
    for (int64_t y = 0; y < g.oh; y++)
        for (int64_t z = 0; z < g.ow; z++)
            for (int64_t o = 0; o < n_out; o++) {
                double s = 0;
                for (int64_t i = 0; i < g.k; i++)
                    for (int64_t j = 0; j < g.k; j++) {
                        const int64_t r = y * g.stride + i - pad, c = z * g.stride + j - pad;
                        if (r < 0 || c < 0 || r >= g.h || c >= g.w) continue;
                        for (int64_t k = 0; k < g.c_in; k++)
                            s += double(x[static_cast<size_t>((r * g.w + c) * g.c_in + k)]) *
                                 w[static_cast<size_t>(((o * g.k + i) * g.k + j) * g.c_in + k)];
                    }
                want.push_back(s);
            }
    same(t, job.y, want, 1e-2, "conv2d");
    return true;
}

inline bool valid_attention(Thread &t) {
    const int64_t kv = t.random.between(1, 2), heads = kv * t.random.between(1, 2), dim = t.random.between(1, 9),
                  tk = t.random.between(1, 8);
    const int32_t causal = t.random.chance(50);
    const int64_t tq = t.random.between(1, causal ? tk : 5);
    std::vector<float> q = wholes(t, static_cast<size_t>(tq * heads * dim)),
                       k = wholes(t, static_cast<size_t>(tk * kv * dim)),
                       v = wholes(t, static_cast<size_t>(tk * kv * dim));
    for (float &f : q) f /= 16;
    std::vector<double> want(q.size());
    for (int64_t j = 0; j < tq; j++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t seen = causal ? tk - tq + j + 1 : tk, g = h / (heads / kv);
            std::vector<double> e(static_cast<size_t>(seen));
            double most = -1e300, sum = 0;
            for (int64_t i = 0; i < seen; i++) {
                double s = 0;
                for (int64_t c = 0; c < dim; c++)
                    s += double(q[static_cast<size_t>((j * heads + h) * dim + c)]) *
                         k[static_cast<size_t>((i * kv + g) * dim + c)];
                e[static_cast<size_t>(i)] = s / std::sqrt(double(dim));
                most = std::fmax(most, e[static_cast<size_t>(i)]);
            }
            for (double &s : e) sum += s = std::exp(s - most);
            for (int64_t i = 0; i < seen; i++)
                for (int64_t c = 0; c < dim; c++)
                    want[static_cast<size_t>((j * heads + h) * dim + c)] +=
                        e[static_cast<size_t>(i)] / sum * double(v[static_cast<size_t>((i * kv + g) * dim + c)]);
        }
    float *out = guarded_room(t, q.size());
    qtsa_attention_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.q = guarded(t, q), d.k = guarded(t, k), d.v = guarded(t, v), d.out = out;
    d.tq = tq, d.tk = tk, d.heads = heads, d.kv_heads = kv, d.head_dim = dim;
    d.causal = causal;
    RIGHT(qtsa_attention, t.main_backend(), &d, 0);
    same(t, out, want, 2e-2, "attention");
    return true;
}

inline bool valid_op_run(Thread &t) {
    const int64_t rows = t.random.between(1, 9), columns = t.random.between(1, 40);
    const size_t n = static_cast<size_t>(rows * columns);
    const std::vector<float> a = wholes(t, n), b = wholes(t, static_cast<size_t>(columns));
    qtsa_operand in[2], out;
    memset(in, 0, sizeof in);
    in[0] = {sizeof in[0], QTSA_DTYPE_F32, 2, {rows, columns}, guarded(t, a), nullptr};
    in[1] = {sizeof in[1], QTSA_DTYPE_F32, 1, {columns}, guarded(t, b), nullptr};
    out = {sizeof out, QTSA_DTYPE_F32, 2, {rows, columns}, guarded_room(t, n), nullptr};
    std::vector<double> want(n);
    static const char *const names[] = {"add", "sub", "mul", "maximum", "minimum"};
    const size_t which = t.random.below(5);
    for (size_t i = 0; i < n; i++) {
        const double l = double(a[i]), r = double(b[i % b.size()]);
        const double results[] = {l + r, l - r, l * r, std::fmax(l, r), std::fmin(l, r)};
        want[i] = results[which];
    }
    RIGHT(qtsa_op_run, t.main_backend(), names[which], in, 2, nullptr, 0, &out, 1, 0);
    same(t, static_cast<float *>(out.data), want, 0, names[which]);
    return true;
}

/* A file that another run of this program wrote says what was written. */
inline bool valid_file(Thread &t) {
    Own<qtsa_weights> w(t, WEIGHTS);
    const char *path = t.text(t.process.folder + (t.random.chance(70) ? "/whole.gguf" : "/whole.safetensors"));
    qtsa_weights_options o = qtsa_weights_options_init();
    o.placement = static_cast<int32_t>(t.random.below(3));
    RIGHT(qtsa_weights_open, path, &o, w.out());
    const int64_t shape[] = {2, 32}, wide[] = {4, 32};
    Own<qtsa_graph> graph(t, GRAPH);
    Own<qtsa_session> session(t, SESSION);
    Own<qtsa_plan> plan(t, PLAN);
    qtsa_tensor in[2], y;
    RIGHT(qtsa_graph_create, "file", graph.out());
    RIGHT(qtsa_graph_input, graph.h, "x", QTSA_DTYPE_F32, shape, 2, &in[0]);
    RIGHT(qtsa_graph_weight, graph.h, w.h, "w", &in[1]);
    qtsa_tensor_info info;
    RIGHT(qtsa_graph_info, graph.h, in[1], &info);
    t.right(info.rank == 2 && info.shape[0] == wide[0] && info.shape[1] == wide[1] && info.bytes == 512,
            "a tensor of a file");
    RIGHT(qtsa_graph_op, graph.h, "linear", in, 2, nullptr, 0, &y, 1);
    RIGHT(qtsa_graph_output, graph.h, "y", y);
    RIGHT(qtsa_session_create, t.main_backend(), session.out());
    RIGHT(qtsa_plan_create, session.h, graph.h, nullptr, plan.out());
    const std::vector<float> x = wholes(t, 64);
    std::vector<double> want;
    for (size_t r = 0; r < 2; r++)
        for (size_t c = 0; c < 4; c++) {
            double s = 0;
            for (size_t i = 0; i < 32; i++)
                s += double(x[r * 32 + i]) * double(file_value(static_cast<int64_t>(c * 32 + i)));
            want.push_back(s);
        }
    const qtsa_input input = {guarded(t, x), 256};
    const qtsa_output output = {guarded_room(t, 8), 32};
    RIGHT(qtsa_plan_run, plan.h, &input, 1, &output, 1, nullptr);
    same(t, static_cast<float *>(output.data), want, 1e-2, "a product with a file's weights");
    return true;
}

/* Metadata come back by their types. */
inline bool valid_metadata(Thread &t) {
    const char *whole = t.text(t.process.folder + "/whole.gguf"), *flags = t.text(t.process.folder + "/flags.gguf");
    Own<qtsa_weights> w(t, WEIGHTS), f(t, WEIGHTS);
    RIGHT(qtsa_weights_open, whole, nullptr, w.out());
    RIGHT(qtsa_weights_open, flags, nullptr, f.out());
    int64_t *wholes = t.memory<int64_t>(3);
    double *reals = t.memory<double>(2);
    int32_t *bools = t.memory<int32_t>(1);
    char *words = t.memory<char>(4);
    size_t n;
    RIGHT(qtsa_weights_metadata_get, w.h, "wholes", int32_t(QTSA_METADATA_INT), static_cast<void *>(wholes), size_t(3),
          Out<size_t>{&n});
    t.right(n == 3 && wholes[0] == 1 && wholes[1] == -2 && wholes[2] == 3, "metadata_ints");
    RIGHT(qtsa_weights_metadata_get, w.h, "reals", int32_t(QTSA_METADATA_FLOAT), static_cast<void *>(reals), size_t(2),
          Out<size_t>{&n});
    t.right(n == 2 && reals[0] == 0.5 && reals[1] == -1.5, "metadata_floats");
    RIGHT(qtsa_weights_metadata_get, f.h, "flag", int32_t(QTSA_METADATA_BOOL), static_cast<void *>(bools), size_t(1),
          Out<size_t>{&n});
    t.right(n == 1 && bools[0] == 1, "metadata_bools");
    RIGHT(qtsa_weights_metadata_copy, w.h, "text", int64_t(0), words, size_t(4), Out<size_t>{&n});
    t.right(n == 4 && strcmp(words, "\xe2\x82\xac") == 0, "metadata_string_copy");
    return true;
}

/* One of them; false: there was no memory. */
inline bool valid(Thread &t) {
    static bool (*const all[])(Thread &) = {valid_plans,     valid_state,  valid_matmul,   valid_conv2d,
                                            valid_attention, valid_op_run, valid_metadata, valid_file};
    return t.random.of(all)(t);
}

#endif
