// qtsaccel.hpp without exceptions: results, and a graph that keeps its first failure.
#define QTSACCEL_NO_EXCEPTIONS
#include "qtsaccel.hpp"

#include <cstdio>
#include <cstdlib>

using namespace qtsa;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

static result<float> doubled(const backend &on, float value) {
    auto g = graph::create("double");
    if (!g) {
        return g.error();
    }
    g->output("y", g->input("x", QTSA_DTYPE_F32, {1}) * 2);
    auto stream = session::create(on);
    if (!stream) {
        return stream.error();
    }
    auto p = plan::create(*stream, *g);
    if (!p) {
        return p.error();
    }
    float out = 0;
    if (auto r = p->run({value}, {out}); !r) {
        return r.error();
    }
    return out;
}

int main() {
    auto on = backend::create();
    CHECK(on);
    auto y = doubled(*on, 21);
    CHECK(y && *y == 42);

    auto gone = weights::open("/nowhere.gguf");
    CHECK(!gone && gone.error().status == QTSA_ERR_IO);
    CHECK(gone.error().message.find("/nowhere.gguf") != std::string::npos);

    // The first failure is kept; nothing is added after it, and the plan tells.
    auto g = graph::create("bad");
    auto x = g->input("x", QTSA_DTYPE_F32, {2, 3});
    CHECK(!g->failed());
    auto bad = ops::relu(ops::matmul(x, x));
    CHECK(!bad && g->failed() && g->failed().status == QTSA_ERR_SHAPE_MISMATCH);
    g->output("y", bad);
    auto stream = session::create(*on);
    auto p = plan::create(*stream, *g);
    CHECK(!p && p.error().message.find("matmul") != std::string::npos);
    CHECK(!stream->reset().error());

    // Calls, and what they are declined or refused with.
    const float w[] = {2, 3}, one[] = {1, 10};
    float z[1] = {0};
    auto m = matrix::create(*on, QTSA_DTYPE_F32, {1, 2}, span<const float>(w));
    CHECK(m);
    auto ran = matmul(*on, one, 2, {product(*m, z)}, QTSA_ONLY_IF_WORTHWHILE);
    CHECK(ran && *ran && z[0] == 32);
    CHECK(matmul(*on, one, 3, {product(*m, z)}).error().status == QTSA_ERR_SHAPE_MISMATCH);
    CHECK(!matrix::create(*on, QTSA_DTYPE_F32, {2, 2}, span<const float>(w)));
    auto missing = active();
    CHECK(!missing && missing.error().status == QTSA_ERR_NOT_FOUND);

    // A tensor of nowhere gives none.
    CHECK(!ops::silu({}));

    backend freed;
    CHECK(doubled(freed, 1).error().status == QTSA_ERR_INVALID_HANDLE);
    std::puts("ok");
}
