// Graphs, state, dynamic dimensions and failures through qtsaccel.hpp, with exceptions.
#include "qtsaccel.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace qtsa;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

template <class F>
static error failing(F f) {
    try {
        f();
    } catch (const error &e) {
        return e;
    }
    std::fprintf(stderr, "nothing was thrown\n");
    std::exit(1);
}

static bool says(const error &e, const char *words) { return std::strstr(e.what(), words) != nullptr; }

static bool near(float a, float b) { return std::fabs(a - b) < 1e-5f; }

static backend compute() { return backend::create(); }

static void expressions(const backend &on) {
    auto w = weights::create();
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    w.declare("w", QTSA_DTYPE_F32, {3, 2});
    w.set("w", span(values.data(), values.size()));
    CHECK(w.size() == 1 && w.name(0) == "w" && w.info("w").bytes == 24);

    auto g = graph::create("expressions");
    auto x = g.input("x", QTSA_DTYPE_F32, {1, 2});
    auto y = ops::linear(x, g.weight(w, "w"));
    g.output("y", y);
    g.output("z", -(2.0 - y * 0.5 + y / y) - 1.0 * y);
    auto [best, where] = ops::top_k(y, 2);
    g.output("best", best);
    g.output("where", where);
    g.output("part", ops::slice(y, 1, ops::slice_attrs().start(1)));
    CHECK(g.info(y).shape[1] == 3);

    auto stream = session::create(on);
    auto p = plan::create(stream, g);
    const std::array<float, 2> in = {1, 10};
    std::vector<float> out(3), more(3);
    std::array<float, 2> top{}, part{};
    std::int32_t at[2] = {};
    qtsa_timing timing{};
    p.run({in}, {out, more, top, span(at), part}, run_options{{}, 1, &timing});
    CHECK(near(out[0], 21) && near(out[1], 43) && near(out[2], 65));
    for (int i = 0; i < 3; i++) {
        CHECK(near(more[i], -(2 - out[i] / 2 + 1) - out[i]));
    }
    CHECK(near(top[0], 65) && at[0] == 2 && near(top[1], 43) && at[1] == 1);
    CHECK(near(part[0], 43) && near(part[1], 65));
    CHECK(timing.compute_ns > 0);
    CHECK(p.input_index("x") == 0 && p.output_index("where") == 3);
    CHECK(p.placement().find("linear") != std::string::npos);

    out.assign(3, 0);
    p.run({{}}, {out, {}, {}, {}, {}});  // as before, and one output only
    CHECK(near(out[2], 65));
}

static void state_and_dimensions(const backend &on) {
    auto g = graph::create("sums");
    const auto n = g.dim("n", 1, 8);
    auto x = g.input("x", QTSA_DTYPE_F32, {n, 2});
    auto total = g.state("total", QTSA_DTYPE_F32, {2});
    auto now = ops::state_write(total, total + ops::reduce_sum(x, ops::reduce_sum_attrs().axis(0).keepdims(0)));
    g.output("now", now);

    auto stream = session::create(on);
    auto p = plan::create(stream, g, 4, true);
    const std::int64_t one = 1, three = 3;
    p.prepare({three});
    std::vector<float> sum(2);
    p.run({std::vector<float>{1, 2}}, {sum}, {{&one, 1}});
    p.run({std::vector<float>{1, 2, 3, 4, 5, 6}}, {sum}, {{three}});
    CHECK(near(sum[0], 10) && near(sum[1], 14));
    std::array<float, 2> kept{};
    stream.read("total", span(kept.data(), kept.size()));
    CHECK(near(kept[0], 10));
    const float other[] = {5};
    stream.write("total", span(other), sizeof(float));
    stream.read("total", span(kept.data(), kept.size()));
    CHECK(near(kept[0], 10) && near(kept[1], 5));
    stream.reset();
    stream.read("total", span(kept.data(), kept.size()));
    CHECK(near(kept[0], 0));
}

static void failures(const backend &on) {
    auto g = graph::create("bad");
    auto x = g.input("x", QTSA_DTYPE_F32, {2, 3});
    auto e = failing([&] { ops::matmul(x, x); });
    CHECK(e.status() == QTSA_ERR_SHAPE_MISMATCH && says(e, "matmul") && says(e, "[2, 3]"));
    CHECK(failing([&] { ops::softmax(x, ops::softmax_attrs().axis(9)); }).status() == QTSA_ERR_INVALID_ARGUMENT);
    CHECK(says(failing([&] { ops::silu({}); }), "no input"));
    CHECK(failing([&] { g.input("x", QTSA_DTYPE_F32, {1}); }).status() == QTSA_ERR_ALREADY_EXISTS);
    CHECK(failing([&] { weights::open("/nowhere.gguf"); }).status() == QTSA_ERR_IO);
    CHECK(failing([&] { backend::create("abacus"); }).status() == QTSA_ERR_INVALID_ARGUMENT);

    g.output("y", ops::relu(x));  // and it goes on
    auto stream = session::create(on);
    auto p = plan::create(stream, g);
    std::vector<float> in(6, -1.0f), out(6, 9.0f), shorter(5);
    CHECK(says(failing([&] { p.run({shorter}, {out}); }), "20"));
    CHECK(failing([&] { p.run({}, {out}); }).status() != QTSA_OK);
    p.run({in}, {out});
    CHECK(near(out[5], 0));
}

static void ownership() {
    plan kept;
    CHECK(!kept && failing([&] { kept.prepare(); }).status() == QTSA_ERR_INVALID_HANDLE);
    {
        auto on = compute();
        auto g = graph::create("moved");
        auto x = g.input("x", QTSA_DTYPE_F32, {4});
        auto moved = std::move(g);  // tensors stay good
        moved.output("y", ops::scale(x, ops::scale_attrs().scale(3)));
        auto stream = session::create(on);
        auto first = plan::create(stream, moved);
        kept = std::move(first);
        CHECK(!first && kept);
    }
    std::array<float, 4> in = {1, 2, 3, 4}, out{}, other{};
    kept.run({in}, {out});  // all else is gone
    CHECK(near(out[3], 12));
    std::thread([&] { kept.run({in}, {other}); }).join();
    CHECK(out == other);
    static_assert(!std::is_copy_constructible_v<plan> && std::is_nothrow_move_constructible_v<plan>);
    static_assert(!std::is_copy_constructible_v<graph> && std::is_nothrow_move_constructible_v<graph>);

    const auto a = ops::conv1d_attrs().stride(2).padding({1, 2});
    const auto b = a;  // keeps lists of its own
    CHECK(b.size() == 2 && b.data()[1].ints != a.data()[1].ints && b.data()[1].ints[1] == 2);
}

int main() {
    const auto on = compute();
    CHECK(!on.name().empty() && on.report(QTSA_FORMAT_JSON)[0] == '{');
    CHECK(devices().back().kind == QTSA_DEVICE_CPU);
    expressions(on);
    state_and_dimensions(on);
    failures(on);
    ownership();
    std::puts("ok");
}
