// story: tells a story with stories260K, token by token.
//
//     story stories260K_f32.gguf tok512.bin 256 "Once upon a time"
#include <algorithm>
#include <cstdlib>

#include "qtsaccel.hpp"

extern "C" {
#include "../c/tokenizer.h"
}

using namespace qtsa;

enum { LAYERS = 5, HEADS = 8, KV_HEADS = 4, HEAD_DIM = 8, CONTEXT = 512, VOCABULARY = 512, KV_STEP = 64 };

// One step: a token at a position to the logits of the one after it.
static graph build(const weights &w) {
    auto g = graph::create("story");
    const auto n_kv = g.dim("n_kv", KV_STEP, CONTEXT);  // how much of the cache is read
    auto token = g.input("token", QTSA_DTYPE_I32, {1}), position = g.input("position", QTSA_DTYPE_I32, {1});
    auto heads = [](tensor x, int n) { return ops::reshape(x, {1, n, HEAD_DIM}); };
    auto rope = [&](tensor x) { return ops::rope(x, position, ops::rope_attrs().mode("interleaved")); };
    auto cache = [&](const std::string &name, tensor row) {
        auto rows = g.state(name, QTSA_DTYPE_F32, {CONTEXT, KV_HEADS, HEAD_DIM});
        return ops::slice(ops::state_write(rows, row, position), 0, ops::slice_attrs().end(n_kv));
    };
    auto norm = [](tensor x, tensor weight) { return ops::rms_norm(x, weight, ops::rms_norm_attrs().eps(1e-5)); };

    auto embeddings = g.weight(w, "token_embd.weight");
    auto x = ops::embedding(embeddings, token);
    for (int layer = 0; layer < LAYERS; layer++) {
        const auto n = std::to_string(layer);
        auto weight = [&](const char *name) { return g.weight(w, "blk." + n + "." + name + ".weight"); };
        auto h = norm(x, weight("attn_norm"));
        auto q = rope(heads(ops::linear(h, weight("attn_q")), HEADS));
        auto k = rope(heads(ops::linear(h, weight("attn_k")), KV_HEADS));
        auto v = heads(ops::linear(h, weight("attn_v")), KV_HEADS);
        // Rows after the query's position, not written yet, are invisible to it.
        auto y = ops::attention(q, cache("k." + n, k), cache("v." + n, v), {}, position);
        x = x + ops::linear(ops::reshape(y, {1, HEADS * HEAD_DIM}), weight("attn_output"));
        h = norm(x, weight("ffn_norm"));
        h = ops::swiglu(ops::linear(h, weight("ffn_gate")), ops::linear(h, weight("ffn_up")));
        x = x + ops::linear(h, weight("ffn_down"));
    }
    g.output("logits", ops::linear(norm(x, g.weight(w, "output_norm.weight")), embeddings));
    return g;
}

int main(int argc, char **argv) try {
    if (argc != 5) {
        std::fprintf(stderr, "usage: story MODEL.gguf TOKENIZER.bin TOKENS PROMPT\n");
        return 1;
    }
    tokenizer t;
    tokenizer_open(argv[2], VOCABULARY, &t);
    std::vector<std::int32_t> tokens(std::string(argv[4]).size() + 2);
    tokens.resize(static_cast<std::size_t>(tokenizer_encode(&t, argv[4], tokens.data())));
    const auto end = std::min<std::size_t>(CONTEXT, tokens.size() + std::strtoul(argv[3], nullptr, 10) - 1);

    auto stream = session::create(backend::create());
    auto step = plan::create(stream, build(weights::open(argv[1])));
    std::vector<float> logits(VOCABULARY);
    for (std::size_t i = 0; i < end; i++) {
        const auto position = static_cast<std::int32_t>(i);
        const std::int64_t n_kv = (position / KV_STEP + 1) * KV_STEP;
        step.run({tokens[i], position}, {logits}, {{n_kv}, 1});
        if (i + 1 == tokens.size()) {  // beyond the prompt, the model goes on with the likeliest
            tokens.push_back(std::int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        }
        if (tokens[i + 1] == TOKEN_BEGIN || tokens[i + 1] == TOKEN_END) break;
        tokenizer_print(&t, tokens[i], tokens[i + 1], stdout);
    }
    std::puts("");
    tokenizer_close(&t);
} catch (const error &e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
}
