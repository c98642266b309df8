// The same in C++.
#include <cstdio>
#include <qtsaccel.hpp>

int main() {
    auto g = qtsa::graph::create();
    g.output("y", g.input("x", QTSA_DTYPE_F32, {3}) * 2);
    auto session = qtsa::session::create(qtsa::backend::create("cpu"));
    std::array<float, 3> in = {1, 2, 3}, out{};
    qtsa::plan::create(session, g).run({in}, {out});
    std::printf("%d: %g %g %g\n", int(qtsa_version()), double(out[0]), double(out[1]), double(out[2]));
}
