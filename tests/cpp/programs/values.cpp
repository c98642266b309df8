// Graphs, state, dynamic dimensions and failures through qtsaccel.hpp, with exceptions.
#include "qtsaccel.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
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
    CHECK(p.input_info(0, {three}).shape[0] == 3 && p.output_info(0, {three}).bytes == 8);
    CHECK(failing([&] { p.output_info(0, {9}); }).status() == QTSA_ERR_INVALID_ARGUMENT);
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

static void files(const std::string &path) {
    auto w = weights::create();
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
    w.declare("layer.0.w", QTSA_DTYPE_F32, {2, 4});
    w.set_array("layer.0.w", values.data(), QTSA_DTYPE_F32, {4, 8});  // transposed
    w.add("layer.1.w", QTSA_DTYPE_F32, {8}, values);
    w.set("layer.1.w", QTSA_DTYPE_F32, values);
    attributes metadata;
    metadata.set("general.name", "test");
    metadata.set("some", ints({1, -2}));
    metadata.set("half", 0.5);
    std::uint64_t last = 0;
    w.save(path, metadata, [&](std::uint64_t done, std::uint64_t total) { return last = done, done > total; });
    CHECK(last > 0);

    auto rules =
        weights_options().placement(QTSA_PLACEMENT_COPIED).rule("layer.*.w", 0, "l*").rule("*0*", QTSA_DTYPE_F16);
    const auto copied = rules;  // keeps texts of its own
    CHECK(weights::plan_memory(path, copied).tensors == 2);
    auto again = weights::open(path, copied);
    CHECK(again.size() == 2 && again.info("l0").dtype == QTSA_DTYPE_F16 && again.info("l1").bytes == 32);
    CHECK(again.metadata("general.name") == "test" && again.report().find("layer.0.w") != std::string::npos);
    CHECK(again.metadata_string("general.name") == "test");
    CHECK(again.metadata_info("general.name").type == QTSA_METADATA_STRING);
    CHECK(again.metadata_size() == 3 && again.metadata_key(0) == "general.name");
    CHECK(again.names() == std::vector<std::string>({"l0", "l1"}) && again.info(1).bytes == 32);
    CHECK(again.metadata_keys() == std::vector<std::string>({"general.name", "some", "half"}));
    CHECK(again.metadata_ints("some") == std::vector<std::int64_t>({1, -2}) && again.metadata_floats("half")[0] == 0.5);
    CHECK(failing([&] { again.metadata_bools("some"); }).status() == QTSA_ERR_INVALID_ARGUMENT);

    auto on = backend::create("reference");
    last = 0;
    again.upload(on, {"l1"}, [&](std::uint64_t done, std::uint64_t) { return last = done, false; });
    CHECK(last == 32 && again.device_bytes(on) == 64);  // in double precision
    again.upload(on);
    CHECK(again.device_bytes(on) == 128);
    CHECK(failing([&] { again.upload(on, {"l2"}); }).status() == QTSA_ERR_NOT_FOUND);
    CHECK(failing([&] {
              weights::open(path, weights_options().budget(1).placement(QTSA_PLACEMENT_COPIED));
          }).status() == QTSA_ERR_OUT_OF_MEMORY);
    auto cancelling = weights_options().tell([](std::uint64_t, std::uint64_t) { return true; });
    CHECK(failing([&] { weights::open(path, cancelling); }).status() == QTSA_ERR_CANCELLED);
    bool out = false;
    try {
        weights::open(path, weights_options().tell([](std::uint64_t, std::uint64_t) -> bool { throw 7; }));
    } catch (int seven) {
        out = seven == 7;
    }
    CHECK(out);

    auto columns = std::vector<float>(64, 1.0f);
    w.declare("m", QTSA_DTYPE_F32, {1, 64});
    w.set("m", span(columns.data(), columns.size()));
    w.save(path);
    auto by = weights_options().rule("m", QTSA_DTYPE_Q4_0).importance("m", columns);
    CHECK(weights::open(path, by).info("m").dtype == QTSA_DTYPE_Q4_0);
    columns.resize(63);
    CHECK(failing([&] {
              weights::open(path, weights_options().rule("m", QTSA_DTYPE_Q4_0).importance("m", columns));
          }).status() == QTSA_ERR_SHAPE_MISMATCH);

    const std::vector<std::int8_t> levels(32, 3);
    const float scale = 0.5f;
    qtsa_split_matrix split{};
    split.struct_size = sizeof split;
    split.n_out = 1, split.n_in = 32, split.bits = 8, split.is_signed = 1;
    split.levels = levels.data(), split.scales = &scale, split.scale_dtype = QTSA_DTYPE_F32;
    const auto kept = w.add_split("split", split);
    CHECK(kept.dtype == QTSA_DTYPE_Q8_0 && kept.exact == 1 && kept.bytes == 34);
}

static void calls(const backend &on) {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6}, x = {1, 10, 2, 0}, bias = {1, 1, -100};
    auto w = matrix::create(on, QTSA_DTYPE_F32, {3, 2}, values);
    CHECK(w.bytes() == 24 && w.n_out() == 3);
    auto named = weights::create();
    named.declare("w", QTSA_DTYPE_F32, {1, 2});
    named.set("w", span(values.data(), 2));
    auto row = matrix::create(on, named, "w");
    std::vector<float> y(6), z(2);
    CHECK(matmul(on, x, 2, {product(w, y).bias(bias).activation(QTSA_ACTIVATION_RELU), product(row, z)}));
    CHECK(near(y[0], 22) && near(y[1], 44) && near(y[2], 0) && near(y[3], 3) && near(y[5], 0));
    CHECK(near(z[0], 21) && near(z[1], 2));
    std::vector<product> many(20, product(row, z));  // of one y: refused, but all are read
    CHECK(says(failing([&] { matmul(on, x, 2, many); }), "overlap"));
    CHECK(matmul(on, span<const float>(), 2, {product(w, {})}));
    std::vector<float> wrong(5);
    CHECK(says(failing([&] { matmul(on, x, 2, {product(w, wrong)}); }), "product 0"));
    CHECK(failing([&] { matmul(on, x, 3, {product(w, y)}); }).status() == QTSA_ERR_SHAPE_MISMATCH);
    CHECK(failing([&] { matmul(on, x, 1, {product(w, {})}); }).status() == QTSA_ERR_SHAPE_MISMATCH);

    // Sums over windows of 3 by 3 of an image of ones; half of a border's lies outside.
    const std::vector<float> ones(18, 1.0f), nine(9, 1.0f);
    auto kernel = matrix::create(on, QTSA_DTYPE_F32, {1, 3, 3, 1}, nine);
    std::vector<float> sums(9), part(4);
    CHECK(conv2d(on, span(nine.data(), 9), {3, 3, 1, 3}, product(kernel, sums)));
    CHECK(near(sums[0], 4) && near(sums[1], 6) && near(sums[4], 9));
    CHECK(conv2d(on, span(nine.data(), 9), {3, 3, 1, 3, 2}, product(kernel, part)));
    CHECK(near(part[3], 4));
    qtsa_conv2d_norm norm{};
    norm.struct_size = sizeof norm;
    norm.kind = QTSA_NORM_LAYER;
    norm.eps = 1e-5;
    CHECK(conv2d(on, span(nine.data(), 9), {3, 3, 1, 3}, product(kernel, sums), &norm));
    CHECK(near(sums[4], 0));  // of one channel nothing is left
    CHECK(failing([&] { conv2d(on, ones, {3, 3, 1, 3}, product(kernel, sums)); }).status() == QTSA_ERR_SHAPE_MISMATCH);

    // Equal keys: the mean of the values.
    const std::vector<float> q = {1, 2}, k = {1, 1, 1, 1}, v = {2, 4, 6, 8};
    std::vector<float> mean(2);
    CHECK(attention(on, q, k, v, {1, 2, 1, 1, 2}, mean));
    CHECK(near(mean[0], 4) && near(mean[1], 6));
    CHECK(failing([&] { attention(on, q, k, x, {1, 2, 1, 1, 3}, mean); }).status() == QTSA_ERR_SHAPE_MISMATCH);

    std::vector<float> best(2);
    std::vector<std::int32_t> at(2);
    attributes two;
    two.set("k", std::int64_t{1});
    CHECK(run(on, "top_k", {{x, {2, 2}}}, {{best, {2, 1}}, {at, {2, 1}}}, two));
    CHECK(near(best[0], 10) && at[0] == 1 && near(best[1], 2) && at[1] == 0);
    CHECK(run(on, "linear", {{x, {2, 2}}, w, {}}, {{y, {2, 3}}}));
    CHECK(near(y[0], 21));
    CHECK(run(on, "softmax", {{x, {2, 2}}}, {{part, {2, 2}}}, ops::softmax_attrs().axis(0)));
    CHECK(near(part[0] + part[2], 1));
    CHECK(says(failing([&] { run(on, "silu", {{x, {3, 2}}}, {{y, {3, 2}}}); }), "operand 0"));

    stats(on, QTSA_FORMAT_TEXT, QTSA_STATS_RESET);
    CHECK(wants(on, "matmul", {1, 2, 3}));
    set_threshold(on, "linear", 1000, 2);
    CHECK(stats(on, QTSA_FORMAT_JSON).find("\"min_flops\": 1000,") != std::string::npos);
    calibrate(on, QTSA_CALIBRATE_OFF);
    CHECK(stats(on, QTSA_FORMAT_JSON)[0] == '{');

    CHECK(failing([] { active(); }).status() == QTSA_ERR_NOT_FOUND);
    install(on);
    install(on);
    const auto found = active();
    CHECK(found && matmul(found, x, 2, {product(w, y)}) && near(y[0], 21));
    CHECK(failing([] { install_none(); }).status() == QTSA_ERR_ALREADY_EXISTS);
    session::create(found);
}

int main(int, char **argv) {
    const auto on = compute();
    CHECK(!on.name().empty() && on.report(QTSA_FORMAT_JSON)[0] == '{');
    CHECK(devices().back().kind == QTSA_DEVICE_CPU);
    CHECK(devices_report().find("cpu:0") != std::string::npos && devices_report({}, QTSA_FORMAT_JSON)[0] == '{');
    expressions(on);
    state_and_dimensions(on);
    failures(on);
    ownership();
    files(argv[0] + std::string(".gguf"));
    calls(on);
    std::puts("ok");
}
