/*
 * qtsaccel for C++17: the C API as values that own what they hold. Header only.
 *
 *     #include <qtsaccel.hpp>
 *     using namespace qtsa;
 *
 *     auto cpu = backend::create("cpu");
 *     auto w = weights::open("model.gguf");
 *     auto g = graph::create("head");
 *     auto x = g.input("x", QTSA_DTYPE_F32, {1, 64});
 *     g.output("y", ops::silu(ops::linear(x, g.weight(w, "output.weight")) + 0.5));
 *     auto stream = session::create(cpu);
 *     auto head = plan::create(stream, g);
 *     std::vector<float> in(64), out(512);
 *     head.run({in}, {out});
 *
 * FAILURES are thrown as qtsa::error, with the status and the words of the C API.
 * With QTSACCEL_NO_EXCEPTIONS defined nothing is thrown: what can fail gives a
 * qtsa::result, and building a graph keeps the first failure, which graph::failed()
 * tells and plan::create() gives.
 *
 * OWNERSHIP. Objects move and do not copy; each gives its handle back when it ends.
 * They may end in any order: the library keeps what is in use. get() lends the
 * handle to the C API, which has everything that this header has not.
 *
 * THREADS. As in the C API: every function may be called from every thread, but
 * moving or ending an object while another thread uses it is the caller's to avoid.
 */
#ifndef QTSACCEL_HPP
#define QTSACCEL_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "qtsaccel.h"

namespace qtsa {

/* --------------------------------------------------------------- Views -- */

/* Elements that lie one behind the other and belong to somebody else. */
template <class T>
class span {
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /* Whatever has data() and size(): std::vector, std::array, std::span. */
    template <class C, class P = decltype(std::declval<C &>().data()),
              class = std::enable_if_t<std::is_convertible_v<P, T *>>>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}
    /* Lives as long as the list: to the end of the call that it is an argument of. */
    template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
    constexpr span(std::initializer_list<std::remove_const_t<T>> list) noexcept {
        data_ = list.begin();
        size_ = list.size();
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

template <class C>
span(C &&) -> span<std::remove_pointer_t<decltype(std::declval<C &>().data())>>;
template <class T, std::size_t N>
span(T (&)[N]) -> span<T>;

using ints = span<const std::int64_t>;
using reals = span<const double>;

/* ------------------------------------------------------------ Failures -- */

/* What a call failed with: a QTSA_ERR_* and the words. Status QTSA_OK: nothing. */
struct failure {
    qtsa_status status = QTSA_OK;
    std::string message;
    explicit operator bool() const noexcept { return status != QTSA_OK; }
};

namespace detail {
inline failure last_failure(qtsa_status status) {
    return status == QTSA_OK ? failure{} : failure{status, qtsa_last_error()};
}
}  // namespace detail

#ifndef QTSACCEL_NO_EXCEPTIONS

class error : public std::runtime_error {
  public:
    explicit error(const failure &f)
        : std::runtime_error(std::string(qtsa_status_name(f.status)) + ": " + f.message), status_(f.status) {}
    qtsa_status status() const noexcept { return status_; }

  private:
    qtsa_status status_;
};

/* What a call gives; it throws where it cannot. */
template <class T>
using result = T;

namespace detail {
inline void done(qtsa_status status) {
    if (status != QTSA_OK) {
        throw error(last_failure(status));
    }
}
template <class T, class From>
T made(qtsa_status status, From &&from) {
    done(status);
    return T(std::forward<From>(from));
}
template <class T>
T refused(qtsa_status status, std::string words) {
    throw error(failure{status, std::move(words)});
}
}  // namespace detail

#else

/* What a call gives, or the failure that kept it from it. */
template <class T>
class [[nodiscard]] result {
  public:
    result(T value) : value_(std::move(value)) {}
    result(failure f) : failure_(std::move(f)) {}
    explicit operator bool() const noexcept { return !failure_; }
    /* Undefined after a failure, as are * and ->. */
    T &value() &noexcept { return value_; }
    T &&value() &&noexcept { return std::move(value_); }
    T &operator*() noexcept { return value_; }
    T *operator->() noexcept { return &value_; }
    const failure &error() const noexcept { return failure_; }

  private:
    T value_{};
    failure failure_;
};

template <>
class [[nodiscard]] result<void> {
  public:
    result() = default;
    result(failure f) : failure_(std::move(f)) {}
    explicit operator bool() const noexcept { return !failure_; }
    const failure &error() const noexcept { return failure_; }

  private:
    failure failure_;
};

namespace detail {
inline result<void> done(qtsa_status status) { return last_failure(status); }
template <class T, class From>
result<T> made(qtsa_status status, From &&from) {
    if (status != QTSA_OK) {
        return last_failure(status);
    }
    return T(std::forward<From>(from));
}
template <class T>
result<T> refused(qtsa_status status, std::string words) {
    return failure{status, std::move(words)};
}
}  // namespace detail

#endif

namespace detail {

/* Owns a handle of the C API. */
template <class H, qtsa_status (*Free)(H)>
class handle {
  public:
    handle() noexcept = default;
    explicit handle(H h) noexcept : h_(h) {}
    handle(handle &&other) noexcept : h_(other.release()) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Free(h_);
            h_ = other.release();
        }
        return *this;
    }
    ~handle() {
        if (h_ != nullptr) {
            Free(h_);
        }
    }
    H get() const noexcept { return h_; }
    /* Leaves the handle to the caller. */
    H release() noexcept { return std::exchange(h_, nullptr); }
    explicit operator bool() const noexcept { return h_ != nullptr; }

  private:
    H h_ = nullptr;
};

/* The text of a _copy function; args are what stands before its buffer. */
template <class... Params, class... Args>
result<std::string> text(qtsa_status (*copy)(Params...), Args... args) {
    std::string s;
    std::size_t size = 0;
    qtsa_status status = copy(args..., nullptr, 0, &size);
    while (status == QTSA_OK && s.size() < size) {
        s.resize(size);
        status = copy(args..., s.data(), s.size(), &size);
        if (status != QTSA_OK && size > s.size()) { /* it grew in between */
            status = QTSA_OK;
        }
    }
    if (status == QTSA_OK) {
        s.resize(size - 1); /* without the zero */
    }
    return made<std::string>(status, std::move(s));
}

template <class T>
constexpr std::size_t bytes(span<T> s) noexcept {
    return s.size() * sizeof(T);
}

/* Is there for whole numbers and for enumerators that are as good as one. */
template <class I>
using whole = std::enable_if_t<std::is_integral_v<I> || (std::is_enum_v<I> && std::is_convertible_v<I, std::int64_t>)>;

/* Is there for what a span can be made of, but no span. */
template <class T>
struct is_span : std::false_type {};
template <class T>
struct is_span<span<T>> : std::true_type {};
template <class C>
using listed = std::enable_if_t<!is_span<std::decay_t<C>>::value, decltype(span(std::declval<C &>()))>;

}  // namespace detail

/* ---------------------------------------------------------------- Sizes -- */

class graph;

namespace detail {

/* Of a graph, what its tensors and dimensions need: it lives as long as one of them, and
 * the graph's end empties it. */
struct graph_core {
    handle<qtsa_graph, qtsa_graph_free> h;
    failure first; /* without exceptions: why nothing was added any more */

    /* Says whether to go on. */
    bool check(qtsa_status status) {
#ifndef QTSACCEL_NO_EXCEPTIONS
        done(status);
#else
        if (status != QTSA_OK && !first) {
            first = last_failure(status);
        }
#endif
        return status == QTSA_OK;
    }
    /* Says whether the graph is there and nothing has failed. */
    bool going() {
        if (!h && !first) {
            fail(QTSA_ERR_INVALID_HANDLE, "the graph has ended");
        }
        return !first;
    }
    void fail(qtsa_status status, std::string words) {
#ifndef QTSACCEL_NO_EXCEPTIONS
        throw error(failure{status, std::move(words)});
#else
        first = failure{status, std::move(words)};
#endif
    }
};

using shared_core = std::shared_ptr<graph_core>;

}  // namespace detail

/*
 * A dynamic dimension of a graph, or an expression of such: n + 1, 2 * n, n / 2 where it
 * divides. It stands in shapes and attributes of its graph; each run gives its value.
 */
class dim {
  public:
    dim() noexcept = default;
    dim(detail::shared_core core, std::int64_t number) noexcept : core_(std::move(core)), number_(number) {}

    /* What stands for it in the C API. */
    std::int64_t number() const noexcept { return number_; }
    /* As messages have it: "2*n + 1". */
    result<std::string> text() const {
        return detail::text(qtsa_graph_dim_text_copy, core_ ? core_->h.get() : nullptr, number_);
    }

    friend dim operator+(const dim &a, const dim &b) { return join(QTSA_DIM_ADD, a, b); }
    friend dim operator-(const dim &a, const dim &b) { return join(QTSA_DIM_SUB, a, b); }
    friend dim operator*(const dim &a, const dim &b) { return join(QTSA_DIM_MUL, a, b); }
    friend dim operator/(const dim &a, const dim &b) { return join(QTSA_DIM_DIV, a, b); }
    template <class I, class = detail::whole<I>>
    friend dim operator+(const dim &a, I b) {
        return a + a.of(b);
    }
    template <class I, class = detail::whole<I>>
    friend dim operator+(I a, const dim &b) {
        return b.of(a) + b;
    }
    template <class I, class = detail::whole<I>>
    friend dim operator-(const dim &a, I b) {
        return a - a.of(b);
    }
    template <class I, class = detail::whole<I>>
    friend dim operator-(I a, const dim &b) {
        return b.of(a) - b;
    }
    template <class I, class = detail::whole<I>>
    friend dim operator*(const dim &a, I b) {
        return a * a.of(b);
    }
    template <class I, class = detail::whole<I>>
    friend dim operator*(I a, const dim &b) {
        return b.of(a) * b;
    }
    template <class I, class = detail::whole<I>>
    friend dim operator/(const dim &a, I b) {
        return a / a.of(b);
    }
    template <class I, class = detail::whole<I>>
    friend dim operator/(I a, const dim &b) {
        return b.of(a) / b;
    }

    /* Whether both are the same expression of the same graph. */
    friend bool operator==(const dim &a, const dim &b) noexcept { return a.core_ == b.core_ && a.number_ == b.number_; }
    friend bool operator!=(const dim &a, const dim &b) noexcept { return !(a == b); }

  private:
    template <class I>
    dim of(I number) const {
        return dim(core_, static_cast<std::int64_t>(number));
    }
    static dim join(std::int32_t op, const dim &a, const dim &b) {
        const detail::shared_core &core = a.core_ ? a.core_ : b.core_;
        std::int64_t made = 0;
        if (core && core->going()) {
            core->check(qtsa_graph_dim_op(core->h.get(), op, a.number_, b.number_, &made));
        }
        return dim(core, made);
    }
    detail::shared_core core_;
    std::int64_t number_ = 0;
};

/* A number or a dynamic dimension, as shapes and attributes take them. */
class size_arg {
  public:
    template <class I, class = detail::whole<I>>
    size_arg(I number) noexcept : number_(static_cast<std::int64_t>(number)) {}
    size_arg(const dim &d) noexcept : number_(d.number()) {}
    std::int64_t number() const noexcept { return number_; }

  private:
    std::int64_t number_;
};

/* Sizes: {n, 2 * n + 1, 4}, or a container of dimensions or whole numbers. */
class sizes {
  public:
    sizes() = default;
    sizes(std::initializer_list<size_arg> list) { fill(list); }
    template <class C, class = decltype(size_arg(*std::begin(std::declval<const C &>())))>
    sizes(const C &list) {
        fill(list);
    }

    const std::int64_t *data() const noexcept { return numbers_.data(); }
    std::size_t size() const noexcept { return numbers_.size(); }

  private:
    template <class C>
    void fill(const C &list) {
        for (const auto &one : list) {
            numbers_.push_back(size_arg(one).number());
        }
    }
    std::vector<std::int64_t> numbers_;
};

/* -------------------------------------------------------------- Backend -- */

/* The fields of qtsa_backend_options. */
struct backend_options : qtsa_backend_options {
    backend_options() noexcept : qtsa_backend_options(qtsa_backend_options_init()) {}
    explicit backend_options(const char *name) noexcept : backend_options() { backend = name; }
};

class backend : public detail::handle<qtsa_backend, qtsa_backend_free> {
  public:
    using handle::handle;

    static result<backend> create(const backend_options &options = {}) {
        qtsa_backend h = nullptr;
        const qtsa_status status = qtsa_backend_create(&options, &h);
        return detail::made<backend>(status, h);
    }
    /* "cpu", "vulkan", ...; null: as the environment says, else the best. */
    static result<backend> create(const char *name) { return create(backend_options(name)); }

    /* What computes, and the device's own name: "cpu (AMD EPYC)". */
    result<std::string> name() const {
        auto text = report();
#ifdef QTSACCEL_NO_EXCEPTIONS
        if (!text) {
            return text;
        }
        std::string &words = text.value();
#else
        std::string &words = text;
#endif
        words.resize(std::min(words.size(), words.find('\n')));
        return words;
    }
    result<std::string> report(std::int32_t format = QTSA_FORMAT_TEXT) const {
        return detail::text(qtsa_backend_report_copy, get(), format);
    }
};

/* A backend that somebody else owns: a qtsa::backend, or the process's default one. */
class backend_ref {
  public:
    backend_ref() noexcept = default;
    explicit backend_ref(qtsa_backend h) noexcept : h_(h) {}
    backend_ref(const backend &b) noexcept : h_(b.get()) {}
    qtsa_backend get() const noexcept { return h_; }
    explicit operator bool() const noexcept { return h_ != nullptr; }

  private:
    qtsa_backend h_ = nullptr;
};

/* The devices of this machine in the order in which "auto" prefers them, those too
 * that cannot be used. */
inline result<std::vector<qtsa_device>> devices(const backend_options &options = {}) {
    std::vector<qtsa_device> found;
    std::size_t n = 0;
    qtsa_status status = qtsa_devices_list(&options, nullptr, 0, &n);
    while (status == QTSA_OK && found.size() < n) {
        found.resize(n);
        found[0].struct_size = sizeof found[0];
        status = qtsa_devices_list(&options, found.data(), found.size(), &n);
        if (status != QTSA_OK && n > found.size()) { /* one was plugged in in between */
            status = QTSA_OK;
        }
    }
    if (status == QTSA_OK) {
        found.resize(n);
    }
    return detail::made<std::vector<qtsa_device>>(status, std::move(found));
}
/* The same as a report, and for each API without a device the reason. */
inline result<std::string> devices_report(const backend_options &options = {}, std::int32_t format = QTSA_FORMAT_TEXT) {
    return detail::text(qtsa_devices_report_copy, static_cast<const qtsa_backend_options *>(&options), format);
}

/* Where the library's log lines go: to a function of a level, QTSA_LOG_*, and a text,
 * called from any thread; none: nowhere. */
class log_to {
  public:
    log_to() = default;
    template <class F, class = std::enable_if_t<std::is_invocable_v<F &, std::int32_t, const char *>>>
    log_to(F f) : tell_(std::make_unique<std::function<void(std::int32_t, const char *)>>(std::move(f))) {}

    /* Takes the place of the one before, for the whole process, until it ends. */
    result<void> begin() { return detail::done(qtsa_set_log_callback(tell_ ? &called : nullptr, tell_.get())); }
    log_to(log_to &&) = default;
    log_to &operator=(log_to &&) = delete;
    ~log_to() {
        if (tell_) {
            qtsa_set_log_callback(nullptr, nullptr);
        }
    }

  private:
    static void called(std::int32_t level, const char *text, void *user) noexcept {
        (*static_cast<std::function<void(std::int32_t, const char *)> *>(user))(level, text);
    }
    std::unique_ptr<std::function<void(std::int32_t, const char *)>> tell_;
};

/* Named values: attributes of an operator, metadata of a file. It keeps the lists that
 * it is given. */
class attributes {
  public:
    template <class I, class = detail::whole<I>>
    void set(const char *name, I v) {
        list_.push_back(qtsa_attr_int(name, static_cast<std::int64_t>(v)));
    }
    void set(const char *name, size_arg v) { list_.push_back(qtsa_attr_int(name, v.number())); }
    void set(const char *name, double v) { list_.push_back(qtsa_attr_float(name, v)); }
    void set(const char *name, const char *v) {
        texts_.emplace_back(v);
        list_.push_back(qtsa_attr_string(name, texts_.back().c_str()));
    }
    void set(const char *name, ints v) {
        ints_.emplace_back(v.begin(), v.end());
        list_.push_back(qtsa_attr_ints(name, ints_.back().data(), static_cast<std::int32_t>(v.size())));
    }
    void set(const char *name, reals v) {
        reals_.emplace_back(v.begin(), v.end());
        list_.push_back(qtsa_attr_floats(name, reals_.back().data(), static_cast<std::int32_t>(v.size())));
    }
    const qtsa_attr *data() const noexcept { return list_.data(); }
    std::size_t size() const noexcept { return list_.size(); }

    attributes() = default;
    attributes(attributes &&) = default;
    attributes &operator=(attributes &&) = default;
    /* A copy would point into the original: it is made anew. */
    attributes(const attributes &other) { *this = other; }
    attributes &operator=(const attributes &other) {
        if (this != &other) {
            attributes made;
            for (const qtsa_attr &a : other.list_) {
                switch (a.type) {
                    case QTSA_ATTR_STRING:
                        made.set(a.name, a.s);
                        break;
                    case QTSA_ATTR_INTS:
                        made.set(a.name, ints(a.ints, static_cast<std::size_t>(a.count)));
                        break;
                    case QTSA_ATTR_FLOATS:
                        made.set(a.name, reals(a.floats, static_cast<std::size_t>(a.count)));
                        break;
                    default:
                        made.list_.push_back(a);
                }
            }
            *this = std::move(made);
        }
        return *this;
    }

  private:
    std::vector<qtsa_attr> list_;
    std::deque<std::string> texts_; /* deques: what is in them stays where it is */
    std::deque<std::vector<std::int64_t>> ints_;
    std::deque<std::vector<double>> reals_;
};

/* -------------------------------------------------------------- Weights -- */

/* Is told the bytes done, and all; true from it cancels. What it throws comes out of the
 * call that it was given to. */
class progress {
  public:
    progress() = default;
    template <class F, class = std::enable_if_t<
                           std::is_convertible_v<std::invoke_result_t<F &, std::uint64_t, std::uint64_t>, bool>>>
    progress(F f) : tell_(std::move(f)) {}

    qtsa_progress_callback callback() const noexcept { return tell_ ? &called : nullptr; }
    /* The status of the call that it was given to, when that is over. */
    qtsa_status ended(qtsa_status status) {
#ifndef QTSACCEL_NO_EXCEPTIONS
        if (thrown_) {
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        }
#endif
        return status;
    }

  private:
    static std::int32_t called(std::uint64_t done, std::uint64_t total, void *user) noexcept {
        auto *self = static_cast<progress *>(user);
#ifndef QTSACCEL_NO_EXCEPTIONS
        try {
            return self->tell_(done, total) ? 1 : 0;
        } catch (...) {
            self->thrown_ = std::current_exception();
            return 1;
        }
#else
        return self->tell_(done, total) ? 1 : 0;
#endif
    }
    std::function<bool(std::uint64_t, std::uint64_t)> tell_;
#ifndef QTSACCEL_NO_EXCEPTIONS
    std::exception_ptr thrown_;
#endif
};

/* How a file is opened; qtsa_weights_options says what the fields mean. */
class weights_options {
  public:
    weights_options() noexcept { c_.struct_size = sizeof c_; }
    /* QTSA_PLACEMENT_* */
    weights_options &placement(std::int32_t p) noexcept {
        c_.placement = p;
        return *this;
    }
    weights_options &budget(std::uint64_t bytes) noexcept {
        c_.budget_bytes = bytes;
        return *this;
    }
    /* Stores what matches as dtype (0: as in the file), under another name ("": its own). */
    weights_options &rule(std::string pattern, qtsa_dtype dtype = 0, std::string rename = {}) {
        rules_.push_back({std::move(pattern), std::move(rename), dtype, 0});
        return *this;
    }
    /* Leaves the tensors out whose names match. */
    weights_options &skip(std::string pattern) {
        rules_.push_back({std::move(pattern), {}, 0, QTSA_RULE_SKIP});
        return *this;
    }
    /* How much the columns of a tensor matter where it is quantised. */
    weights_options &importance(std::string name, span<const float> columns) {
        importance_.push_back({std::move(name), std::vector<float>(columns.begin(), columns.end())});
        return *this;
    }
    weights_options &tell(progress p) {
        told = std::move(p);
        return *this;
    }
    progress told;

    /* As C has them, for as long as nothing is changed here. */
    const qtsa_weights_options &c() {
        c_rules_.clear();
        for (const rules &r : rules_) {
            c_rules_.push_back({sizeof(qtsa_weights_rule), r.pattern.c_str(),
                                r.rename.empty() ? nullptr : r.rename.c_str(), r.dtype, r.flags});
        }
        c_importance_.clear();
        for (const importances &i : importance_) {
            c_importance_.push_back({sizeof(qtsa_importance), i.name.c_str(), i.columns.data(), i.columns.size()});
        }
        c_.rules = c_rules_.data();
        c_.n_rules = c_rules_.size();
        c_.importance = c_importance_.data();
        c_.n_importance = c_importance_.size();
        c_.progress = told.callback();
        c_.user = &told;
        return c_;
    }

  private:
    struct rules {
        std::string pattern, rename;
        qtsa_dtype dtype;
        std::int32_t flags;
    };
    struct importances {
        std::string name;
        std::vector<float> columns;
    };
    std::vector<rules> rules_;
    std::vector<importances> importance_;
    qtsa_weights_options c_{};
    std::vector<qtsa_weights_rule> c_rules_;
    std::vector<qtsa_importance> c_importance_;
};

class weights : public detail::handle<qtsa_weights, qtsa_weights_free> {
  public:
    using handle::handle;

    /* Without a tensor, to be filled from memory. */
    static result<weights> create() {
        qtsa_weights h = nullptr;
        const qtsa_status status = qtsa_weights_create(&h);
        return detail::made<weights>(status, h);
    }
    /* A GGUF or safetensors file, or a model in parts. */
    static result<weights> open(const std::string &path, weights_options options = {}) {
        qtsa_weights h = nullptr;
        const qtsa_weights_options &c = options.c();
        const qtsa_status status = options.told.ended(qtsa_weights_open(path.c_str(), &c, &h));
        return detail::made<weights>(status, h);
    }
    /* What opening it would take. */
    static result<qtsa_weights_memory> plan_memory(const std::string &path, weights_options options = {}) {
        qtsa_weights_memory m{};
        const qtsa_status status = qtsa_weights_plan_memory(path.c_str(), &options.c(), &m);
        return detail::made<qtsa_weights_memory>(status, m);
    }
    /* Writes a GGUF file; metadata is added, or takes the place of what there is. */
    result<void> save(const std::string &path, const attributes &metadata = {}, progress told = {}) const {
        return detail::done(told.ended(
            qtsa_weights_save(get(), path.c_str(), metadata.data(), metadata.size(), told.callback(), &told)));
    }
    result<std::string> report(std::int32_t format = QTSA_FORMAT_TEXT) const {
        return detail::text(qtsa_weights_report_copy, get(), format);
    }

    /* Adds a tensor whose elements are given later. */
    result<void> declare(const std::string &name, qtsa_dtype dtype, ints shape) {
        return add_array(name, dtype, shape, nullptr, 0);
    }
    /* Adds a tensor with its elements. */
    template <class C, class = detail::listed<C>>
    result<void> add(const std::string &name, qtsa_dtype dtype, ints shape, const C &data) {
        const auto elements = span(data);
        return add_array(name, dtype, shape, elements.data(), detail::bytes(elements));
    }
    /* Gives a tensor its elements, in its own type. */
    template <class T>
    result<void> set(const std::string &name, span<T> data) {
        const qtsa_array a = qtsa_array_dense(0, nullptr, 0, data.data(), detail::bytes(data));
        return detail::done(qtsa_weights_set(get(), name.c_str(), &a));
    }
    /* Of whatever has data() and size(), or an array. */
    template <class C, class = detail::listed<C>>
    result<void> set(const std::string &name, const C &data) {
        return set(name, span(data));
    }
    /* Converts from elements of another type. */
    template <class C, class = detail::listed<C>>
    result<void> set(const std::string &name, qtsa_dtype dtype, const C &data) {
        const auto elements = span(data);
        return set_array(name, qtsa_array_dense(dtype, nullptr, 0, elements.data(), detail::bytes(elements)));
    }
    /* Converts from other strides, in bytes, and another type. */
    result<void> set_array(const std::string &name, const void *data, qtsa_dtype dtype, ints strides) {
        qtsa_array a = qtsa_array_dense(dtype, nullptr, 0, data, 0);
        a.strides = strides.data();
        return set_array(name, a);
    }
    /* Of an array of any kind, also one that is lent: qtsa_array says what its fields mean. */
    result<void> set_array(const std::string &name, const qtsa_array &array) {
        return detail::done(qtsa_weights_set(get(), name.c_str(), &array));
    }
    /* Adds a matrix whose levels and scales lie apart, as dtype, or as the smallest type
     * that keeps it. */
    result<qtsa_split_report> add_split(const std::string &name, const qtsa_split_matrix &matrix,
                                        qtsa_dtype dtype = 0) {
        qtsa_split_report r{};
        const qtsa_status status = qtsa_weights_add_split(get(), name.c_str(), &matrix, dtype, &r);
        return detail::made<qtsa_split_report>(status, r);
    }
    result<std::size_t> size() const {
        std::size_t n = 0, keys = 0;
        const qtsa_status status = qtsa_weights_count(get(), &n, &keys);
        return detail::made<std::size_t>(status, n);
    }
    result<qtsa_tensor_info> info(const std::string &name) const {
        qtsa_tensor_info i{};
        const qtsa_status status = qtsa_weights_info(get(), name.c_str(), 0, &i);
        return detail::made<qtsa_tensor_info>(status, i);
    }
    result<qtsa_tensor_info> info(std::size_t index) const {
        qtsa_tensor_info i{};
        const qtsa_status status = qtsa_weights_info(get(), nullptr, index, &i);
        return detail::made<qtsa_tensor_info>(status, i);
    }
    result<std::string> name(std::size_t index) const {
        return detail::text(qtsa_weights_name_copy, get(), QTSA_NAME_TENSOR, index);
    }
    /* The names of all tensors. */
    result<std::vector<std::string>> names() const { return all_names(QTSA_NAME_TENSOR); }
    /* Puts tensors onto a backend's device ahead of plans: those whose names match one of
     * the patterns, or all. */
    result<void> upload(backend_ref to, const std::vector<std::string> &patterns = {}, progress told = {}) const {
        std::vector<const char *> names;
        for (const std::string &p : patterns) names.push_back(p.c_str());
        qtsa_upload_options o{};
        o.struct_size = sizeof o;
        o.patterns = names.data();
        o.n_patterns = names.size();
        o.progress = told.callback();
        o.user = &told;
        return detail::done(told.ended(qtsa_weights_upload(get(), to.get(), &o)));
    }
    result<std::uint64_t> device_bytes(backend_ref on) const {
        std::uint64_t n = 0;
        const qtsa_status status = qtsa_weights_device_bytes(get(), on.get(), &n);
        return detail::made<std::uint64_t>(status, n);
    }

    /* A metadata value as text, and by its type; an array of strings one by one. */
    result<std::string> metadata(const std::string &key) const {
        return detail::text(qtsa_weights_metadata_copy, get(), key.c_str(), QTSA_WHOLE);
    }
    result<qtsa_metadata_info> metadata_info(const std::string &key) const {
        qtsa_metadata_info i{};
        const qtsa_status status = qtsa_weights_metadata_info(get(), key.c_str(), &i);
        return detail::made<qtsa_metadata_info>(status, i);
    }
    result<std::vector<std::int64_t>> metadata_ints(const std::string &key) const {
        return metadata_list<std::int64_t>(QTSA_METADATA_INT, key);
    }
    result<std::vector<double>> metadata_floats(const std::string &key) const {
        return metadata_list<double>(QTSA_METADATA_FLOAT, key);
    }
    result<std::vector<std::int32_t>> metadata_bools(const std::string &key) const {
        return metadata_list<std::int32_t>(QTSA_METADATA_BOOL, key);
    }
    result<std::string> metadata_string(const std::string &key, std::int64_t index = 0) const {
        return detail::text(qtsa_weights_metadata_copy, get(), key.c_str(), index);
    }
    result<std::size_t> metadata_size() const {
        std::size_t tensors = 0, n = 0;
        const qtsa_status status = qtsa_weights_count(get(), &tensors, &n);
        return detail::made<std::size_t>(status, n);
    }
    result<std::string> metadata_key(std::size_t index) const {
        return detail::text(qtsa_weights_name_copy, get(), QTSA_NAME_METADATA, index);
    }
    /* All keys, in the order of the file. */
    result<std::vector<std::string>> metadata_keys() const { return all_names(QTSA_NAME_METADATA); }

  private:
    result<void> add_array(const std::string &name, qtsa_dtype dtype, ints shape, const void *data, std::size_t bytes) {
        const auto rank = static_cast<std::int32_t>(shape.size());
        const qtsa_array a = qtsa_array_dense(dtype, shape.data(), rank, data, bytes);
        return detail::done(qtsa_weights_add(get(), name.c_str(), &a));
    }
    result<std::vector<std::string>> all_names(std::int32_t kind) const {
        std::size_t tensors = 0, keys = 0, size = 0;
        qtsa_status status = qtsa_weights_count(get(), &tensors, &keys);
        std::vector<std::string> names(kind == QTSA_NAME_TENSOR ? tensors : keys);
        for (std::size_t i = 0; status == QTSA_OK && i < names.size(); i++) {
            status = qtsa_weights_name_copy(get(), kind, i, nullptr, 0, &size);
            names[i].resize(size);
            if (status == QTSA_OK) {
                status = qtsa_weights_name_copy(get(), kind, i, names[i].data(), size, &size);
                names[i].resize(size - 1); /* without the zero */
            }
        }
        return detail::made<std::vector<std::string>>(status, std::move(names));
    }
    template <class T>
    result<std::vector<T>> metadata_list(std::int32_t type, const std::string &key) const {
        std::size_t n = 0;
        qtsa_status status = qtsa_weights_metadata_get(get(), key.c_str(), type, nullptr, 0, &n);
        std::vector<T> values(n);
        if (status == QTSA_OK && n > 0) {
            status = qtsa_weights_metadata_get(get(), key.c_str(), type, values.data(), n, &n);
        }
        return detail::made<std::vector<T>>(status, std::move(values));
    }
};

/* ---------------------------------------------------------------- Graph -- */

/*
 * A tensor of one graph. When the graph has ended, what is done with its tensors is
 * INVALID_HANDLE. A tensor made by {} is none: it stands for an optional input that is
 * left out.
 */
class tensor {
  public:
    tensor() noexcept = default;
    qtsa_tensor index() const noexcept { return index_; }
    explicit operator bool() const noexcept { return index_ != QTSA_NONE; }

    tensor(detail::shared_core core, qtsa_tensor index) noexcept : core_(std::move(core)), index_(index) {}
    const detail::shared_core &core() const noexcept { return core_; }

  private:
    detail::shared_core core_;
    qtsa_tensor index_ = QTSA_NONE;
};

/* A graph that was moved from is as one that was never created: INVALID_HANDLE. */
class graph {
  public:
    graph() = default;

    static result<graph> create(const std::string &label = "graph") {
        qtsa_graph h = nullptr;
        const qtsa_status status = qtsa_graph_create(label.c_str(), &h);
        return detail::made<graph>(status, h);
    }
    explicit graph(qtsa_graph h) : core_(std::make_shared<detail::graph_core>()) {
        core_->h = detail::handle<qtsa_graph, qtsa_graph_free>(h);
    }
    graph(graph &&other) noexcept = default;
    graph &operator=(graph &&other) noexcept {
        if (this != &other) {
            end();
            core_ = std::move(other.core_);
        }
        return *this;
    }
    ~graph() { end(); }

    qtsa_graph get() const noexcept { return core_ ? core_->h.get() : nullptr; }
    explicit operator bool() const noexcept { return get() != nullptr; }
    const detail::shared_core &core() const noexcept { return core_; }
    /* Without exceptions: the first failure while it was built. */
    failure failed() const { return core_ ? core_->first : none(); }

    /* A dynamic dimension, to stand in shapes and attributes, also in expressions. */
    qtsa::dim dim(const std::string &name, std::int64_t min, std::int64_t max) {
        std::int64_t d = 1;
        if (going()) {
            core_->check(qtsa_graph_dim(get(), name.c_str(), min, max, &d));
        }
        return {core_, d};
    }
    tensor input(const std::string &name, qtsa_dtype dtype, const sizes &shape) {
        return add(
            [&](qtsa_tensor *t) { return qtsa_graph_input(get(), name.c_str(), dtype, shape.data(), rank(shape), t); });
    }
    tensor state(const std::string &name, qtsa_dtype dtype, const sizes &shape) {
        return add(
            [&](qtsa_tensor *t) { return qtsa_graph_state(get(), name.c_str(), dtype, shape.data(), rank(shape), t); });
    }
    tensor weight(const weights &from, const std::string &name) {
        return add([&](qtsa_tensor *t) { return qtsa_graph_weight(get(), from.get(), name.c_str(), t); });
    }
    void output(const std::string &name, const tensor &t) {
        if (going()) {
            core_->check(qtsa_graph_output(get(), name.c_str(), t.index()));
        }
    }
    result<qtsa_tensor_info> info(const tensor &t) const {
        qtsa_tensor_info i{};
        const qtsa_status status = qtsa_graph_info(get(), t.index(), &i);
        return detail::made<qtsa_tensor_info>(status, i);
    }

  private:
    static failure none() { return {QTSA_ERR_INVALID_HANDLE, "the graph was never created, or moved from"}; }
    static std::int32_t rank(const sizes &shape) noexcept { return static_cast<std::int32_t>(shape.size()); }
    /* Its tensors may outlive it, and must not find it. */
    void end() noexcept {
        if (core_) {
            core_->h = {};
        }
    }
    bool going() {
#ifndef QTSACCEL_NO_EXCEPTIONS
        if (!core_) {
            throw error(none());
        }
#endif
        return core_ && core_->going();
    }
    template <class Call>
    tensor add(Call call) {
        qtsa_tensor t = QTSA_NONE;
        if (going()) {
            core_->check(call(&t));
        }
        return {core_, t};
    }
    detail::shared_core core_;
};

namespace detail {

template <std::size_t N>
std::array<tensor, N> add_op(const shared_core &core, const char *name, span<const tensor> inputs,
                             const attributes &attrs) {
    std::array<tensor, N> made;
    made.fill(tensor(core, QTSA_NONE));
#ifndef QTSACCEL_NO_EXCEPTIONS
    if (!core) {
        throw error(failure{QTSA_ERR_INVALID_ARGUMENT, std::string(name) + ": there is no graph to add it to: no input "
                                                                           "is a tensor of one, or it was moved from"});
    }
#endif
    if (!core || !core->going()) {
        return made;
    }
    std::vector<qtsa_tensor> in;
    for (const tensor &t : inputs) {
        in.push_back(t.index());
    }
    while (!in.empty() && in.back() == QTSA_NONE) {
        in.pop_back();
    }
    std::array<qtsa_tensor, N> out{};
    if (core->check(
            qtsa_graph_op(core->h.get(), name, in.data(), in.size(), attrs.data(), attrs.size(), out.data(), N))) {
        for (std::size_t i = 0; i < N; i++) {
            made[i] = tensor(core, out[i]);
        }
    }
    return made;
}

template <std::size_t N>
std::array<tensor, N> add_op(const char *name, std::initializer_list<tensor> inputs, const attributes &attrs) {
    shared_core core;
    for (const tensor &t : inputs) {
        core = core == nullptr ? t.core() : core;
    }
    return add_op<N>(core, name, span<const tensor>(inputs), attrs);
}

template <std::size_t N>
std::array<tensor, N> add_op(graph &to, const char *name, std::initializer_list<tensor> inputs,
                             const attributes &attrs) {
    return add_op<N>(to.core(), name, span<const tensor>(inputs), attrs);
}

}  // namespace detail

/* -------------------------------------------------------------- Session -- */

class session : public detail::handle<qtsa_session, qtsa_session_free> {
  public:
    using handle::handle;

    static result<session> create(backend_ref on) {
        qtsa_session h = nullptr;
        const qtsa_status status = qtsa_session_create(on.get(), &h);
        return detail::made<session>(status, h);
    }
    result<void> reset() { return detail::done(qtsa_session_reset(get())); }
    /* Part of a state, from a byte offset on. */
    template <class T>
    result<void> read(const std::string &state, span<T> to, std::size_t offset = 0) const {
        return detail::done(qtsa_session_read(get(), state.c_str(), offset, to.data(), detail::bytes(to)));
    }
    template <class T>
    result<void> write(const std::string &state, span<T> from, std::size_t offset = 0) {
        return detail::done(qtsa_session_write(get(), state.c_str(), offset, from.data(), detail::bytes(from)));
    }
    /* The same of whatever has data() and size(), or an array. */
    template <class C, class = detail::listed<C>>
    result<void> read(const std::string &state, C &&to, std::size_t offset = 0) const {
        return read(state, span(to), offset);
    }
    template <class C, class = detail::listed<C>>
    result<void> write(const std::string &state, const C &from, std::size_t offset = 0) {
        return write(state, span(from), offset);
    }
    result<void> cancel() const { return detail::done(qtsa_session_cancel(get())); }
};

/* ----------------------------------------------------------------- Plan -- */

/* The content for an input: elements or one number; {}: as at the last run. */
struct input_view : qtsa_input {
    input_view() noexcept : qtsa_input{nullptr, 0} {}
    template <class C, class T = std::remove_pointer_t<decltype(std::declval<const C &>().data())>>
    input_view(const C &c) noexcept : qtsa_input{c.data(), c.size() * sizeof(T)} {}
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    input_view(const T &number) noexcept : qtsa_input{&number, sizeof number} {}
};

/* Where an output goes: elements or one number; {}: not wanted. */
struct output_view : qtsa_output {
    output_view() noexcept : qtsa_output{nullptr, 0} {}
    template <class C, class T = std::remove_pointer_t<decltype(std::declval<C &>().data())>,
              class = std::enable_if_t<!std::is_const_v<T>>>
    output_view(C &&c) noexcept : qtsa_output{c.data(), c.size() * sizeof(T)} {}
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    output_view(T &number) noexcept : qtsa_output{&number, sizeof number} {}
};

/* Of a run: the values of the dynamic dimensions, CPU threads (0: the backend's),
 * and where its timing goes. */
struct run_options {
    ints dims;
    std::int32_t threads = 0;
    qtsa_timing *timing = nullptr;
};

class plan : public detail::handle<qtsa_plan, qtsa_plan_free> {
  public:
    using handle::handle;

    /* max_instances: how many sets of values of the dynamic dimensions stay built (0: 32).
     * strict: refuses operators that the device would leave to the CPU beside it. */
    static result<plan> create(const session &on, const graph &of, std::int32_t max_instances = 0,
                               bool strict = false) {
#ifdef QTSACCEL_NO_EXCEPTIONS
        if (failure f = of.failed()) {
            return f;
        }
#endif
        qtsa_plan_options options{};
        options.struct_size = sizeof options;
        options.max_instances = max_instances;
        options.strict = strict ? 1 : 0;
        qtsa_plan h = nullptr;
        const qtsa_status status = qtsa_plan_create(on.get(), of.get(), &options, &h);
        return detail::made<plan>(status, h);
    }
    result<std::size_t> input_index(const std::string &name) const {
        std::size_t i = 0;
        const qtsa_status status = qtsa_plan_find(get(), QTSA_INPUT, name.c_str(), &i);
        return detail::made<std::size_t>(status, i);
    }
    result<std::size_t> output_index(const std::string &name) const {
        std::size_t i = 0;
        const qtsa_status status = qtsa_plan_find(get(), QTSA_OUTPUT, name.c_str(), &i);
        return detail::made<std::size_t>(status, i);
    }
    /* What an input or output is for values of the dynamic dimensions. */
    result<qtsa_tensor_info> input_info(std::size_t index, ints dims = {}) const {
        qtsa_tensor_info i{};
        const qtsa_status status = qtsa_plan_info(get(), QTSA_INPUT, index, dims.data(), dims.size(), &i);
        return detail::made<qtsa_tensor_info>(status, i);
    }
    result<qtsa_tensor_info> output_info(std::size_t index, ints dims = {}) const {
        qtsa_tensor_info i{};
        const qtsa_status status = qtsa_plan_info(get(), QTSA_OUTPUT, index, dims.data(), dims.size(), &i);
        return detail::made<qtsa_tensor_info>(status, i);
    }
    result<void> prepare(ints dims = {}) { return detail::done(qtsa_plan_prepare(get(), dims.data(), dims.size())); }

    /* Uploads, computes and downloads, in the order in which the graph got its
     * inputs and outputs. Allocates nothing. */
    result<void> run(span<const qtsa_input> inputs, span<const qtsa_output> outputs, const run_options &o = {}) {
        qtsa_run_options options{};
        options.struct_size = sizeof options;
        options.dims = o.dims.data();
        options.n_dims = o.dims.size();
        options.threads = o.threads;
        options.timing = o.timing;
        return detail::done(
            qtsa_plan_run(get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), &options));
    }
    result<void> run(std::initializer_list<input_view> inputs, std::initializer_list<output_view> outputs,
                     const run_options &o = {}) {
        static_assert(sizeof(input_view) == sizeof(qtsa_input) && sizeof(output_view) == sizeof(qtsa_output),
                      "a view is its base and nothing more");
        return run(span<const qtsa_input>(inputs.begin(), inputs.size()),
                   span<const qtsa_output>(outputs.begin(), outputs.size()), o);
    }
    result<std::string> placement(std::int32_t format = QTSA_FORMAT_TEXT) const {
        return detail::text(qtsa_plan_placement_copy, get(), format);
    }
};

}  // namespace qtsa

#include "qtsaccel_ops.hpp"

#include "qtsaccel_calls.hpp"

namespace qtsa {

/* ---------------------------------------------------------- Expressions -- */

inline tensor operator+(tensor a, tensor b) { return ops::add(a, b); }
inline tensor operator-(tensor a, tensor b) { return ops::sub(a, b); }
inline tensor operator*(tensor a, tensor b) { return ops::mul(a, b); }
inline tensor operator/(tensor a, tensor b) { return ops::div(a, b); }
inline tensor operator-(tensor a) { return ops::neg(a); }
inline tensor operator+(tensor a, double b) { return ops::scale(a, ops::scale_attrs().bias(b)); }
inline tensor operator+(double a, tensor b) { return b + a; }
inline tensor operator-(tensor a, double b) { return a + -b; }
inline tensor operator-(double a, tensor b) { return ops::scale(b, ops::scale_attrs().scale(-1).bias(a)); }
inline tensor operator*(tensor a, double b) { return ops::scale(a, ops::scale_attrs().scale(b)); }
inline tensor operator*(double a, tensor b) { return b * a; }

}  // namespace qtsa

#endif
