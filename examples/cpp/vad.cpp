// vad: says where in a recording somebody speaks, with Silero VAD.
//
//     vad silero_vad_16k.safetensors talk.wav
#include <sndfile.h>

#include <cstdio>

#include "qtsaccel.hpp"

using namespace qtsa;

enum { RATE = 16000, CONTEXT = 64, FRESH = 512, BINS = 129, HIDDEN = 128 };

static graph build(const weights &w) {
    auto g = graph::create("vad");
    auto x = g.input("samples", QTSA_DTYPE_F32, {1, 1, CONTEXT + FRESH});
    // The magnitudes of the short-time Fourier transform, whose matrix is a convolution's weight.
    x = ops::pad(x, {0, 0, 0, 0, 0, 64}, ops::pad_attrs().mode("reflect"));
    x = ops::conv1d(x, g.weight(w, "stft_conv.weight"), {}, ops::conv1d_attrs().stride(128));
    auto squares = [&](int start, int end) {
        return ops::square(ops::slice(x, 1, ops::slice_attrs().start(start).end(end)));
    };
    x = ops::sqrt(squares(0, BINS) + squares(BINS, 2 * BINS));
    for (const char *layer : {"conv1", "conv2", "conv3", "conv4"}) {
        const int stride = layer[4] == '2' || layer[4] == '3' ? 2 : 1;
        auto weight = g.weight(w, std::string(layer) + ".weight"), bias = g.weight(w, std::string(layer) + ".bias");
        x = ops::relu(ops::conv1d(x, weight, bias, ops::conv1d_attrs().stride(stride).padding({1})));
    }
    auto h = g.state("h", QTSA_DTYPE_F32, {1, HIDDEN}), c = g.state("c", QTSA_DTYPE_F32, {1, HIDDEN});
    auto [next_h, next_c] = ops::lstm_cell(ops::reshape(x, {1, HIDDEN}), h, c, g.weight(w, "lstm_cell.weight_ih"),
                                           g.weight(w, "lstm_cell.weight_hh"), g.weight(w, "lstm_cell.bias_ih"),
                                           g.weight(w, "lstm_cell.bias_hh"));
    ops::state_write(h, next_h);
    ops::state_write(c, next_c);
    x = ops::reshape(ops::relu(next_h), {1, HIDDEN, 1});
    x = ops::conv1d(x, g.weight(w, "final_conv.weight"), g.weight(w, "final_conv.bias"));
    g.output("probability", ops::sigmoid(x));
    return g;
}

int main(int argc, char **argv) try {
    SF_INFO sound{};
    SNDFILE *file = argc == 3 ? sf_open(argv[2], SFM_READ, &sound) : nullptr;
    if (file == nullptr || sound.samplerate != RATE || sound.channels != 1) {
        std::fprintf(stderr, "usage: vad MODEL.safetensors RECORDING.wav (%d Hz, one channel)\n", RATE);
        return 1;
    }
    auto stream = session::create(backend::create());
    auto vad = plan::create(stream, build(weights::open(argv[1])));

    std::array<float, CONTEXT + FRESH> window{};
    long start = -1, pause = -1, at = 0;  // in samples; -1: no speech, no pause in it
    auto speech = [&](long end) {
        if (end - start > RATE / 4) {
            std::printf("%.3f - %.3f\n", double(start) / RATE, double(end) / RATE);
        }
        start = pause = -1;
    };
    for (; sf_count_t n = sf_readf_float(file, &window[CONTEXT], FRESH); at += FRESH) {
        std::fill(&window[CONTEXT + n], window.end(), 0.0f);
        float p = 0;
        vad.run({window}, {p}, {{}, 1});  // one thread: too little to share
        std::copy(window.end() - CONTEXT, window.end(), window.begin());
        if (p >= 0.5f) {
            pause = -1;
            start = start < 0 ? at : start;
        } else if (start >= 0 && p < 0.35f) {
            pause = pause < 0 ? at : pause;
            if (at - pause >= RATE / 10) speech(pause);
        }
    }
    if (start >= 0) speech(long(sound.frames));
    sf_close(file);
} catch (const error &e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
}
