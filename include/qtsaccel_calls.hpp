// Operator-level calls for C++, and the process's default backend: a part of
// qtsaccel.hpp, which includes it.
//
//     auto w = matrix::create(gpu, QTSA_DTYPE_F16, {n_out, n_in}, halves);
//     if (!matmul(gpu, x, n_in, {product(w, y).bias(b)}, QTSA_ONLY_IF_WORTHWHILE)) {
//         // declined, and nothing was touched
//     }
//
// Sizes of arrays are checked here, everything else by the C API.
#ifndef QTSACCEL_CALLS_HPP
#define QTSACCEL_CALLS_HPP

#ifndef QTSACCEL_HPP
#error "include qtsaccel.hpp, of which this is a part"
#endif

namespace qtsa {

/* ------------------------------------------------------ Default backend -- */

/* Settles which backend the parts of a process use that do not know each other. */
inline result<void> install(backend_ref chosen) { return detail::done(qtsa_backend_install(chosen.get())); }
/* Settles that there is none. */
inline result<void> install_none() { return detail::done(qtsa_backend_install(nullptr)); }
/* What was settled on, which the library keeps: a null one if there is none; NOT_FOUND. */
inline result<backend_ref> active() {
    qtsa_backend h = nullptr;
    const qtsa_status status = qtsa_backend_get_active(&h);
    return detail::made<backend_ref>(status, h);
}

/* --------------------------------------------------------------- Matrix -- */

/* A weight of the calls on one backend. */
class matrix : public detail::handle<qtsa_matrix, qtsa_matrix_free> {
  public:
    matrix() noexcept = default;
    explicit matrix(std::pair<qtsa_matrix, std::int64_t> made) noexcept : handle(made.first), n_out_(made.second) {}

    /* [n_out, n_in], or a convolution's kernel [n_out, k, k, c_in]; the data is copied. */
    template <class C>
    static result<matrix> create(backend_ref on, qtsa_dtype dtype, ints shape, const C &data) {
        auto d = described();
        if (shape.size() > QTSA_MAX_RANK) {
            return detail::refused<matrix>(QTSA_ERR_INVALID_ARGUMENT, "matrix: a shape of more than QTSA_MAX_RANK");
        }
        d.dtype = dtype;
        d.rank = static_cast<std::int32_t>(shape.size());
        for (std::size_t i = 0; i < shape.size(); i++) {
            d.shape[i] = shape[i];
        }
        d.data = data.data();
        d.bytes = data.size() * sizeof *data.data();
        return make(on, d, shape.size() == 0 ? 0 : shape[0]);
    }
    /* A tensor of weights, without a copy. */
    static result<matrix> create(backend_ref on, const weights &from, const std::string &name) {
        qtsa_tensor_info info{};
        const qtsa_status status = qtsa_weights_info(from.get(), name.c_str(), 0, &info);
        if (status != QTSA_OK) {
            return detail::made<matrix>(status, std::pair<qtsa_matrix, std::int64_t>());
        }
        auto d = described();
        d.weights = from.get();
        d.name = name.c_str();
        return make(on, d, info.shape[0]);
    }
    /* Levels and scales that lie apart, stored as dtype; 0: the smallest that keeps them. */
    static result<matrix> create(backend_ref on, const qtsa_split_matrix &split, qtsa_dtype dtype = 0,
                                 qtsa_split_report *report = nullptr) {
        auto d = described();
        d.dtype = dtype;
        d.split = &split;
        d.report = report;
        return make(on, d, split.n_out);
    }

    std::int64_t n_out() const noexcept { return n_out_; }
    /* What it takes on its device. */
    result<std::uint64_t> bytes() const {
        std::uint64_t n = 0;
        const qtsa_status status = qtsa_matrix_bytes(get(), &n);
        return detail::made<std::uint64_t>(status, n);
    }

  private:
    static qtsa_matrix_desc described() noexcept {
        qtsa_matrix_desc d{};
        d.struct_size = sizeof d;
        return d;
    }
    static result<matrix> make(backend_ref on, const qtsa_matrix_desc &d, std::int64_t n_out) {
        qtsa_matrix h = nullptr;
        const qtsa_status status = qtsa_matrix_create(on.get(), &d, &h);
        return detail::made<matrix>(status, std::make_pair(h, n_out));
    }
    std::int64_t n_out_ = 0;
};

/* ---------------------------------------------------------------- Calls -- */

/* One product or convolution: y = activation(x weight^T + bias). */
class product {
  public:
    product(const matrix &weight, span<float> y) noexcept : y_(y) {
        c_.struct_size = sizeof c_;
        c_.weight = weight.get();
        c_.y = y.data();
        c_.n_out = weight.n_out();
    }
    /* [n_out] */
    product &bias(span<const float> b) noexcept {
        bias_ = b;
        c_.bias = b.data();
        return *this;
    }
    /* QTSA_ACTIVATION_* */
    product &activation(std::int32_t a) noexcept {
        c_.activation = a;
        return *this;
    }
    const qtsa_product &c() const noexcept { return c_; }
    /* Whether y has rows rows, and the bias one value for each column. */
    bool fits(std::size_t rows) const noexcept {
        const auto n = static_cast<std::size_t>(c_.n_out);
        return y_.size() == rows * n && (bias_.size() == 0 || bias_.size() == n);
    }

  private:
    qtsa_product c_{};
    span<float> y_;
    span<const float> bias_;
};

namespace detail {

/* Whether a call was run; not, where the device declined it. */
inline result<bool> ran(qtsa_status status) {
    const bool declined = status == QTSA_ERR_NOT_WORTHWHILE;
    return made<bool>(declined ? QTSA_OK : status, !declined);
}

inline std::size_t elements_of(std::initializer_list<std::int64_t> dims) noexcept {
    std::size_t n = 1;
    for (const std::int64_t d : dims) {
        n *= d > 0 ? static_cast<std::size_t>(d) : 0;
    }
    return n;
}

}  // namespace detail

/* x [t, n_in] times the weight of each product, in one submission; each y is [t, n_out].
 * flags: QTSA_ONLY_IF_WORTHWHILE, QTSA_ON_CPU_IF_DECLINED. False: declined. */
inline result<bool> matmul(backend_ref on, span<const float> x, std::int64_t n_in, span<const product> products,
                           std::int32_t flags = 0) {
    const std::size_t t = n_in > 0 ? x.size() / static_cast<std::size_t>(n_in) : 0;
    if (n_in < 1 || t * static_cast<std::size_t>(n_in) != x.size()) {
        return detail::refused<bool>(QTSA_ERR_SHAPE_MISMATCH, "matmul: x is no whole number of rows");
    }
    std::array<qtsa_product, 16> room;
    std::vector<qtsa_product> more(products.size() > room.size() ? products.size() : 0);
    qtsa_product *c = more.empty() ? room.data() : more.data();
    for (std::size_t i = 0; i < products.size(); i++) {
        if (!products[i].fits(t)) {
            return detail::refused<bool>(QTSA_ERR_SHAPE_MISMATCH,
                                         "matmul: y or bias of product " + std::to_string(i) + " has not its size");
        }
        c[i] = products[i].c();
    }
    return detail::ran(qtsa_matmul(on.get(), x.data(), static_cast<std::int64_t>(t), n_in, c, products.size(), flags));
}

/* An image [h*w, c_in], and a kernel of k by k. */
struct image {
    std::int64_t h, w, c_in, k;
    std::int64_t stride = 1;
    std::int64_t oh() const noexcept { return out(h); }
    std::int64_t ow() const noexcept { return out(w); }

  private:
    std::int64_t out(std::int64_t n) const noexcept { return stride > 0 ? (n + k / 2 * 2 - k) / stride + 1 : 0; }
};

/* Convolves x into the product's y [oh*ow, n_out]; norm is done to x as it is loaded. False:
 * declined. */
inline result<bool> conv2d(backend_ref on, span<const float> x, const image &of, const product &to,
                           const qtsa_conv2d_norm *norm = nullptr, std::int32_t flags = 0) {
    if (x.size() != detail::elements_of({of.h, of.w, of.c_in}) || !to.fits(detail::elements_of({of.oh(), of.ow()}))) {
        return detail::refused<bool>(QTSA_ERR_SHAPE_MISMATCH, "conv2d: x, y or bias has not its size");
    }
    const qtsa_conv2d_geometry g = {sizeof g, of.h, of.w, of.c_in, of.k, of.stride, of.oh(), of.ow()};
    return detail::ran(qtsa_conv2d(on.get(), x.data(), &g, norm, &to.c(), flags));
}

/* Sizes of attention, and what a query sees. */
struct heads {
    std::int64_t tq, tk, heads, kv_heads, head_dim;
    bool causal = false;
    std::int64_t window = 0; /* 0: everything before it */
    double scale = 0;        /* 0: 1/sqrt(head_dim) */
};

/* softmax(scale q k^T) v; q and out are [tq, heads*head_dim], k and v [tk,
 * kv_heads*head_dim]. False: declined. */
inline result<bool> attention(backend_ref on, span<const float> q, span<const float> k, span<const float> v,
                              const heads &of, span<float> out, std::int32_t flags = 0) {
    const std::size_t queries = detail::elements_of({of.tq, of.heads, of.head_dim});
    const std::size_t keys = detail::elements_of({of.tk, of.kv_heads, of.head_dim});
    if (q.size() != queries || out.size() != queries || k.size() != keys || v.size() != keys) {
        return detail::refused<bool>(QTSA_ERR_SHAPE_MISMATCH, "attention: q, k, v or out has not its size");
    }
    qtsa_attention_desc d{};
    d.struct_size = sizeof d;
    d.q = q.data();
    d.k = k.data();
    d.v = v.data();
    d.out = out.data();
    d.tq = of.tq;
    d.tk = of.tk;
    d.heads = of.heads;
    d.kv_heads = of.kv_heads;
    d.head_dim = of.head_dim;
    d.window = of.window;
    d.scale = of.scale;
    d.causal = of.causal ? 1 : 0;
    return detail::ran(qtsa_attention(on.get(), &d, flags));
}

/* The element type of host memory. */
template <class T>
constexpr qtsa_dtype dtype_of() noexcept {
    using U = std::remove_const_t<T>;
    static_assert(std::is_same_v<U, float> || std::is_same_v<U, std::int8_t> || std::is_same_v<U, std::int16_t> ||
                      std::is_same_v<U, std::int32_t> || std::is_same_v<U, std::int64_t>,
                  "no element type of the library's");
    return std::is_same_v<U, float>          ? QTSA_DTYPE_F32
           : std::is_same_v<U, std::int8_t>  ? QTSA_DTYPE_I8
           : std::is_same_v<U, std::int16_t> ? QTSA_DTYPE_I16
           : std::is_same_v<U, std::int32_t> ? QTSA_DTYPE_I32
                                             : QTSA_DTYPE_I64;
}

/* An input or output of run(): elements with a shape, or a matrix; {}: left out. */
class operand : public qtsa_operand {
  public:
    operand() noexcept : qtsa_operand() { struct_size = sizeof(qtsa_operand); }
    operand(const qtsa::matrix &m) noexcept : operand() { matrix = m.get(); }
    template <class C, class T = std::remove_pointer_t<decltype(std::declval<C &>().data())>>
    operand(C &&elements, ints dims) noexcept : operand() {
        std::size_t n = 1;
        dtype = dtype_of<T>();
        rank = static_cast<std::int32_t>(dims.size());
        for (std::size_t i = 0; i < dims.size() && i < QTSA_MAX_RANK; i++) {
            shape[i] = dims[i];
            n *= static_cast<std::size_t>(dims[i]);
        }
        fits = n == elements.size();
        /* An input's is only read. */
        data = const_cast<std::remove_const_t<T> *>(elements.data());
    }
    bool fits = true;
};

/* Runs any other operator of the table: run(gpu, "softmax", {{x, {2, 3}}}, {{y, {2, 3}}},
 * ops::softmax_attrs().axis(0)). False: declined. */
inline result<bool> run(backend_ref on, const char *op, std::initializer_list<operand> inputs,
                        std::initializer_list<operand> outputs, const attributes &attrs = {}, std::int32_t flags = 0) {
    std::vector<qtsa_operand> all;
    for (const auto *list : {&inputs, &outputs}) {
        for (const operand &o : *list) {
            if (!o.fits) {
                return detail::refused<bool>(
                    QTSA_ERR_SHAPE_MISMATCH,
                    std::string(op) + ": operand " + std::to_string(all.size()) + " has not the size of its shape");
            }
            all.push_back(o);
        }
    }
    return detail::ran(qtsa_op_run(on.get(), op, all.data(), inputs.size(), attrs.data(), attrs.size(),
                                   all.data() + inputs.size(), outputs.size(), flags));
}

/* -------------------------------------------------- What is worthwhile -- */

/* Whether the device should run a call; what shape is, qtsa_backend_wants() says. */
inline result<bool> wants(backend_ref on, const std::string &op, ints shape) {
    std::int32_t answer = 0;
    const qtsa_status status = qtsa_backend_wants(on.get(), op.c_str(), shape.data(), shape.size(), &answer);
    return detail::made<bool>(status, answer != 0);
}
/* Overrules the threshold for an operator and those alike to it. */
inline result<void> set_threshold(backend_ref on, const std::string &op, double min_flops, double flops_per_byte) {
    const qtsa_threshold t = {sizeof t, op.c_str(), min_flops, flops_per_byte};
    qtsa_calibrate_options o = qtsa_calibrate_options_init();
    o.how = QTSA_CALIBRATE_KEEP;
    o.thresholds = &t;
    o.n_thresholds = 1;
    return detail::done(qtsa_backend_calibrate(on.get(), &o));
}
/* QTSA_CALIBRATE_* */
inline result<void> calibrate(backend_ref on, std::int32_t how = QTSA_CALIBRATE_AUTO) {
    qtsa_calibrate_options o = qtsa_calibrate_options_init();
    o.how = how;
    return detail::done(qtsa_backend_calibrate(on.get(), &o));
}
/* What the calls did, and the thresholds; flags: QTSA_STATS_RESET, to count anew. */
inline result<std::string> stats(backend_ref on, std::int32_t format = QTSA_FORMAT_TEXT, std::int32_t flags = 0) {
    return detail::text(qtsa_backend_stats_copy, on.get(), format, flags);
}

}  // namespace qtsa

#endif
