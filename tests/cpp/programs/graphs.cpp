// Through qtsaccel.hpp: dynamic dimensions as expressions, and what is used with another
// graph or backend, or after it was moved from or has ended.
#include "qtsaccel.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace qtsa;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

/* Must fail with this status, and these words. */
#define FAILS(status_, words, ...)                                                                 \
    do {                                                                                           \
        bool thrown = false;                                                                       \
        try {                                                                                      \
            __VA_ARGS__;                                                                           \
        } catch (const error &e) {                                                                 \
            thrown = true;                                                                         \
            if (e.status() != (status_) || std::strstr(e.what(), words) == nullptr) {              \
                std::fprintf(stderr, "%s:%d: %s, want %s\n", __FILE__, __LINE__, e.what(), words); \
                std::exit(1);                                                                      \
            }                                                                                      \
        }                                                                                          \
        if (!thrown) {                                                                             \
            std::fprintf(stderr, "%s:%d: nothing was thrown\n", __FILE__, __LINE__);               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static void expressions(const backend &on) {
    auto g = graph::create("expressions");
    const auto n = g.dim("n", 2, 8);
    const auto m = g.dim("m", 1, 4);
    CHECK((2 * n + 1).text() == "2*n + 1" && (10 - n).text() == "10 - n" && (n / 2).text() == "n/2");
    CHECK((n * m - m).text() == "n*m - m" && (8 / n).text() == "8/n" && (n - 1 + 1) == n && n + m == m + n && n != m);
    CHECK((n * 2u - 1L).text() == "2*n - 1");

    auto x = g.input("x", QTSA_DTYPE_F32, {2 * n + 1, m});
    const std::vector<dim> both = {n, m};
    auto y = g.input("y", QTSA_DTYPE_F32, both);
    enum { ROWS = 2 };
    const int columns = 3;
    CHECK(g.info(g.input("fixed", QTSA_DTYPE_F32, {ROWS, columns, 4u})).bytes == 96 && n * ROWS == 2 * n);
    auto half = ops::slice(x, 0, ops::slice_attrs().start(n / 2).end(n));
    g.output("flat", ops::reshape(half, {n / 2 * m}));
    g.output("count", ops::arange(g, n * m));
    g.output("y", ops::relu(y));
    CHECK(g.info(x).shape[0] == -1 && g.info(x).bytes == 17 * 4 * 4);

    auto stream = session::create(on);
    auto p = plan::create(stream, g);
    const std::int64_t values[] = {4, 2};
    CHECK(p.input_info(0, values).shape[0] == 9 && p.output_info(0, values).shape[0] == 4);
    std::vector<float> fixed(24), in(18), in_y(8, -1), flat(4), count(8), out_y(8, 5);
    for (std::size_t i = 0; i < in.size(); i++) {
        in[i] = static_cast<float>(i);
    }
    p.run({in, in_y, fixed}, {flat, count, out_y}, {values});
    CHECK(flat == std::vector<float>({4, 5, 6, 7}) && count[7] == 7 && out_y[0] == 0);
    const std::int64_t odd[] = {3, 2};
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "\"n/2\" is 3/2", p.prepare(odd));

    FAILS(QTSA_ERR_INVALID_ARGUMENT, "\"-n\" is -2", g.input("z", QTSA_DTYPE_F32, {0 - n, 4}));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "\"n - 2\" is 0", g.input("z", QTSA_DTYPE_F32, {n - 2, 4}));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "division by 0", n / 0);
    // The number itself is none to reckon with.
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "qtsa_graph_dim_op", g.input("z", QTSA_DTYPE_F32, {n.number() + 1, 4}));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "qtsa_graph_dim_op", ops::arange(g, n.number() + 1));
    auto other = graph::create("other");
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "of another graph", other.input("z", QTSA_DTYPE_F32, {n, 4}));
    const auto k = other.dim("k", 1, 4);
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "of another graph", n + k);
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "of another graph", ops::reshape(x, {k, -1}));
    static_assert(!std::is_convertible_v<dim, std::int64_t> && !std::is_convertible_v<double, size_arg>);
    static_assert(!std::is_constructible_v<sizes, std::vector<double>>);

    // ONNX's idiom for "through to the first element".
    auto reversed = graph::create("reversed");
    auto r = reversed.input("x", QTSA_DTYPE_F32, {3});
    reversed.output("y", ops::slice(r, 0, ops::slice_attrs().start(-1).end(INT64_MIN).step(-1)));
    auto back = plan::create(stream, reversed);
    std::array<float, 3> three{};
    back.run({std::array<float, 3>{1, 2, 3}}, {three});
    CHECK(three[0] == 3 && three[2] == 1);
}

static void strangers(const backend &on) {
    auto a = graph::create("a");
    auto b = graph::create("b");
    auto x = a.input("x", QTSA_DTYPE_F32, {2});
    auto y = b.input("y", QTSA_DTYPE_F32, {2});
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "input 1 is", x + y);
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "a tensor of another graph", y * x);
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "a tensor of another graph", a.output("out", y));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "a tensor of another graph", a.info(y));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "output \"out\" is none", a.output("out", {}));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "the tensor is none", a.info({}));
    a.output("out", x + x);  // and it goes on

    const auto second = backend::create("reference");
    const float numbers[] = {1, 2};
    auto w = matrix::create(second, QTSA_DTYPE_F32, {1, 2}, span(numbers));
    float z[1] = {0};
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "backend", matmul(on, numbers, 2, {product(w, z)}));
}

static void emptied(const backend &on) {
    graph none;
    CHECK(!none && none.failed().status == QTSA_ERR_INVALID_HANDLE);
    auto stream = session::create(on);
    auto w = weights::create();
    for (int round = 0; round < 2; round++) {
        FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", none.dim("n", 1, 2));
        FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", none.input("x", QTSA_DTYPE_F32, {1}));
        FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", none.state("x", QTSA_DTYPE_F32, {1}));
        FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", none.weight(w, "w"));
        FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", none.output("y", {}));
        FAILS(QTSA_ERR_INVALID_ARGUMENT, "moved from", ops::arange(none, 3));
        FAILS(QTSA_ERR_INVALID_HANDLE, "", none.info({}));
        FAILS(QTSA_ERR_INVALID_HANDLE, "", plan::create(stream, none));
        none = graph::create("filled");
        const auto filled = std::move(none);  // the second time it is one that was moved from
        CHECK(filled && !none);
    }

    auto g = graph::create("g");
    auto x = g.input("x", QTSA_DTYPE_F32, {2});
    const auto n = g.dim("n", 1, 2);
    auto h = std::move(g);
    h.output("y", x + 1.0);  // its tensors go with it
    FAILS(QTSA_ERR_INVALID_HANDLE, "moved from", g.output("z", x));
    h = graph::create("another");  // here it ends
    FAILS(QTSA_ERR_INVALID_HANDLE, "has ended", x + 1.0);
    FAILS(QTSA_ERR_INVALID_HANDLE, "has ended", n + 1);
    FAILS(QTSA_ERR_INVALID_HANDLE, "", n.text());
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "of another graph", h.output("y", x));
    tensor kept;
    {
        auto inner = graph::create("inner");
        kept = inner.input("x", QTSA_DTYPE_F32, {2});
    }
    FAILS(QTSA_ERR_INVALID_HANDLE, "has ended", ops::silu(kept));
    FAILS(QTSA_ERR_INVALID_ARGUMENT, "no input is a tensor", ops::silu({}));
    FAILS(QTSA_ERR_INVALID_HANDLE, "", dim().text());

    // The others are handles, which the library looks up.
    auto from = weights::create();
    auto to = std::move(from);
    FAILS(QTSA_ERR_INVALID_HANDLE, "", from.declare("w", QTSA_DTYPE_F32, {1}));
    FAILS(QTSA_ERR_INVALID_HANDLE, "", h.weight(from, "w"));
    auto next = std::move(stream);
    FAILS(QTSA_ERR_INVALID_HANDLE, "", stream.reset());
    FAILS(QTSA_ERR_INVALID_HANDLE, "", plan::create(stream, h));
    const backend gone;
    FAILS(QTSA_ERR_INVALID_HANDLE, "", session::create(gone));
    FAILS(QTSA_ERR_INVALID_HANDLE, "", gone.name());
    const backend_ref dangling = backend::create("reference");
    FAILS(QTSA_ERR_INVALID_HANDLE, "", session::create(dangling));
    const float numbers[] = {1, 2};
    auto m = matrix::create(on, QTSA_DTYPE_F32, {1, 2}, span(numbers));
    const auto mine = std::move(m);
    float z[1] = {0};
    FAILS(QTSA_ERR_INVALID_HANDLE, "", matmul(on, numbers, 2, {product(m, z)}));
}

/* What a span is made of may stand in its place. */
static void containers(const backend &on) {
    const std::vector<float> values = {1, 2, 3};
    std::vector<float> more = {4, 5, 6};
    const std::array<float, 3> fixed = {7, 8, 9};
    const float plain[] = {10, 11, 12};
    auto w = weights::create();
    w.declare("w", QTSA_DTYPE_F32, {3});
    w.set("w", values);
    CHECK(span(values).size() == 3 && span(more)[1] == 5 && span(fixed)[0] == 7 && span(plain)[2] == 12);
    static_assert(std::is_same_v<decltype(span(values)), span<const float>>);
    static_assert(std::is_same_v<decltype(span(more)), span<float>>);
    static_assert(std::is_same_v<decltype(span(span(more))), span<float>>);
    auto g = graph::create("g");
    auto s = g.state("s", QTSA_DTYPE_F32, {3});
    g.output("y", s + g.weight(w, "w"));
    auto stream = session::create(on);
    auto p = plan::create(stream, g);
    std::vector<float> got(3);
    std::array<float, 2> part{};
    float read[1];
    auto check = [&](float first) {
        stream.read("s", got);
        stream.read("s", part, sizeof(float));
        stream.read("s", read);
        stream.read("s", span(got));
        CHECK(got[0] == first && part[0] == first + 1 && read[0] == first);
    };
    stream.write("s", values);
    check(1);
    stream.write("s", more);
    check(4);
    stream.write("s", fixed);
    check(7);
    stream.write("s", plain);
    check(10);
    stream.write("s", std::vector<float>{13, 14, 15});
    check(13);
    stream.write("s", span(values), 0);
    check(1);
    p.run({}, {got});
    CHECK(got[2] == 6);
    auto again = weights::create();
    again.declare("w", QTSA_DTYPE_F32, {3});
    again.set("w", more);
    again.set("w", fixed);
    again.set("w", plain);
    again.set("w", span(more));
}

int main() {
    const auto on = backend::create();
    expressions(on);
    strangers(on);
    emptied(on);
    containers(on);
    std::puts("ok");
}
