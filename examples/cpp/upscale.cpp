// upscale: makes a picture twice as large with ESRGAN-slim, all of it at once.
//
//     upscale dist/esrgan/x2 photo.png larger.png
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "qtsaccel.hpp"

extern "C" {
#include "../c/picture.h"
#include "../c/tfjs.h"
}

using namespace qtsa;

static graph build(const weights &w, int height, int width) {
    auto g = graph::create("upscale");
    // A convolution that keeps the size of the picture. The layers have the names that model.json gives them.
    auto conv = [&](tensor x, const std::string &layer, int kernel) {
        return ops::conv2d(x, g.weight(w, layer + "/kernel"), g.weight(w, layer + "/bias"),
                           ops::conv2d_attrs().padding({kernel / 2}));
    };
    // x with what a layer sees in it beside it, mixed and added to x.
    auto residual_dense = [&](tensor x, const char *grow, const char *mix) {
        return conv(ops::concat({x, ops::relu(conv(x, grow, 3))}, 1), mix, 1) + x;
    };
    auto shallow = conv(g.input("picture", QTSA_DTYPE_F32, {1, 3, height, width}), "F_m1", 3);
    auto first = residual_dense(conv(shallow, "F_0", 3), "F_1_1", "LFF_1");
    auto second = residual_dense(first, "F_2_1", "LFF_2");
    auto x = conv(conv(ops::concat({first, second}, 1), "GFF_1", 1), "GFF_2", 3) + shallow;
    x = ops::relu(conv(ops::relu(conv(x, "UPN1", 5)), "UPN2", 3));
    x = ops::upsample(conv(x, "UPN3", 3), ops::upsample_attrs().scale({2}));
    g.output("larger", conv(x, "SR", 3));
    return g;
}

// The colour of a pixel in planes [3, height, width].
static float &plane(std::vector<float> &planes, const picture &p, int channel, int x, int y) {
    return planes[(static_cast<std::size_t>(channel) * p.height + y) * p.width + x];
}

int main(int argc, char **argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: upscale MODEL_FOLDER INPUT.png OUTPUT.png\n");
        return 1;
    }
    const picture from = picture_read(argv[2]);
    const picture to = picture_create(2 * from.width, 2 * from.height, 3);
    auto stream = session::create(backend::create());
    auto larger = plan::create(stream, build(weights(tfjs_open(argv[1])), from.height, from.width));

    const auto pixels = static_cast<std::size_t>(from.width) * from.height;
    std::vector<float> in(3 * pixels), out(12 * pixels);
    for (int c = 0; c < 3; c++) {
        for (int y = 0; y < from.height; y++) {
            for (int x = 0; x < from.width; x++) {
                plane(in, from, c, x, y) = picture_at(&from, x, y)[c];
            }
        }
    }
    larger.run({in}, {out});
    for (int c = 0; c < 3; c++) {
        for (int y = 0; y < to.height; y++) {
            for (int x = 0; x < to.width; x++) {
                const float value = std::clamp(plane(out, to, c, x, y), 0.0f, 255.0f);
                picture_at(&to, x, y)[c] = static_cast<std::uint8_t>(value + 0.5f);
            }
        }
    }
    picture_write(&to, argv[3]);
    std::free(from.pixels);
    std::free(to.pixels);
} catch (const error &e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
}
