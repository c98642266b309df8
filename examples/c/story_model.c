#include "story_model.h"

#include <stdio.h>

#include "builder.h"

enum { LAYERS = 5, HEADS = 8, KV_HEADS = 4, HEAD_DIM = 8 };

/*
 * The cache is read up to a bound that grows in steps: what a run needs is built
 * once per step and replayed for each token within it.
 */
enum { KV_STEP = 64 };

static qtsa_tensor layer_weight(builder *b, int layer, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "blk.%d.%s.weight", layer, name);
    return weight(b, full);
}

static qtsa_tensor linear(builder *b, qtsa_tensor x, qtsa_tensor w) { return op(b, "linear", TENSORS(x, w), NO_ATTRS); }

static qtsa_tensor norm(builder *b, qtsa_tensor x, qtsa_tensor w) {
    return op(b, "rms_norm", TENSORS(x, w), ATTRS(qtsa_attr_float("eps", 1e-5)));
}

/* [1, heads * HEAD_DIM] as [1, heads, HEAD_DIM] */
static qtsa_tensor split_heads(builder *b, qtsa_tensor x, int64_t heads) {
    return op(b, "reshape", TENSORS(x), ATTRS(qtsa_attr_ints("shape", INTS(1, heads, HEAD_DIM))));
}

static qtsa_tensor rope(builder *b, qtsa_tensor x, qtsa_tensor position) {
    return op(b, "rope", TENSORS(x, position),
              ATTRS(qtsa_attr_float("base", 10000), qtsa_attr_string("mode", "interleaved")));
}

/* Writes the position's row of a layer's cache, and gives its first n_kv rows. */
static qtsa_tensor cache(builder *b, const char *kind, int layer, qtsa_tensor row, qtsa_tensor position, int64_t n_kv) {
    char name[16];
    snprintf(name, sizeof name, "%s.%d", kind, layer);
    qtsa_tensor rows = state(b, name, QTSA_DTYPE_F32, INTS(STORY_CONTEXT, KV_HEADS, HEAD_DIM));
    rows = op(b, "state_write", TENSORS(rows, row, position), NO_ATTRS);
    return op(b, "slice", TENSORS(rows), ATTRS(qtsa_attr_int("axis", 0), qtsa_attr_int("end", n_kv)));
}

static qtsa_tensor attention(builder *b, int layer, qtsa_tensor x, qtsa_tensor position, int64_t n_kv) {
    qtsa_tensor q = split_heads(b, linear(b, x, layer_weight(b, layer, "attn_q")), HEADS);
    qtsa_tensor k = split_heads(b, linear(b, x, layer_weight(b, layer, "attn_k")), KV_HEADS);
    qtsa_tensor v = split_heads(b, linear(b, x, layer_weight(b, layer, "attn_v")), KV_HEADS);
    k = cache(b, "k", layer, rope(b, k, position), position, n_kv);
    v = cache(b, "v", layer, v, position, n_kv);

    /* Rows after the query's position, not written yet, are invisible to it. */
    qtsa_tensor y = op(b, "attention", TENSORS(rope(b, q, position), k, v, QTSA_NONE, position), NO_ATTRS);
    y = op(b, "reshape", TENSORS(y), ATTRS(qtsa_attr_ints("shape", INTS(1, HEADS * HEAD_DIM))));
    return linear(b, y, layer_weight(b, layer, "attn_output"));
}

static qtsa_tensor feed_forward(builder *b, int layer, qtsa_tensor x) {
    qtsa_tensor gate = linear(b, x, layer_weight(b, layer, "ffn_gate"));
    qtsa_tensor up = linear(b, x, layer_weight(b, layer, "ffn_up"));
    return linear(b, op(b, "swiglu", TENSORS(gate, up), NO_ATTRS), layer_weight(b, layer, "ffn_down"));
}

static void build(builder *b) {
    int64_t n_kv = dim(b, "n_kv", KV_STEP, STORY_CONTEXT);
    qtsa_tensor token = input(b, "token", QTSA_DTYPE_I32, INTS(1));
    qtsa_tensor position = input(b, "position", QTSA_DTYPE_I32, INTS(1));

    qtsa_tensor embeddings = weight(b, "token_embd.weight");
    qtsa_tensor x = op(b, "embedding", TENSORS(embeddings, token), NO_ATTRS);
    for (int layer = 0; layer < LAYERS; layer++) {
        qtsa_tensor h = norm(b, x, layer_weight(b, layer, "attn_norm"));
        x = op(b, "add", TENSORS(x, attention(b, layer, h, position, n_kv)), NO_ATTRS);
        h = norm(b, x, layer_weight(b, layer, "ffn_norm"));
        x = op(b, "add", TENSORS(x, feed_forward(b, layer, h)), NO_ATTRS);
    }
    output(b, "logits", linear(b, norm(b, x, weight(b, "output_norm.weight")), embeddings));
}

static qtsa_status open_all(qtsa_backend backend, const char *path, story_model *m) {
    qtsa_status status;
    if ((status = qtsa_weights_open(path, NULL, &m->weights)) != QTSA_OK ||
        (status = qtsa_graph_create("story", &m->graph)) != QTSA_OK) {
        return status;
    }
    builder b = {m->graph, m->weights, QTSA_OK};
    build(&b);
    if ((status = b.status) != QTSA_OK || (status = qtsa_session_create(backend, &m->session)) != QTSA_OK) {
        return status;
    }
    return qtsa_plan_create(m->session, m->graph, NULL, &m->plan);
}

qtsa_status story_open(qtsa_backend backend, const char *path, story_model *out_model) {
    *out_model = (story_model){0};
    qtsa_status status = open_all(backend, path, out_model);
    if (status != QTSA_OK) {
        story_close(out_model);
    }
    return status;
}

qtsa_status story_step(const story_model *model, int32_t token, int32_t position, float *logits) {
    const int64_t n_kv = (position / KV_STEP + 1) * KV_STEP;
    const qtsa_input inputs[] = {{&token, sizeof token}, {&position, sizeof position}};
    const qtsa_output outputs[] = {{logits, logits == NULL ? 0 : STORY_VOCABULARY * sizeof *logits}};
    /* One thread: a step is too little work to share. */
    const qtsa_run_options options = {.struct_size = sizeof options, .dims = &n_kv, .n_dims = 1, .threads = 1};
    return qtsa_plan_run(model->plan, inputs, 2, outputs, 1, &options);
}

qtsa_status story_reset(const story_model *model) { return qtsa_session_reset(model->session); }

void story_close(story_model *model) {
    qtsa_plan_free(model->plan);
    qtsa_session_free(model->session);
    qtsa_graph_free(model->graph);
    qtsa_weights_free(model->weights);
    *model = (story_model){0};
}
