#include "vad_model.h"

#include <stdio.h>

#include "builder.h"

enum { BINS = 129, HIDDEN = 128 };

static qtsa_tensor unary(builder *b, const char *name, qtsa_tensor x) { return op(b, name, TENSORS(x), NO_ATTRS); }

/* relu(conv1d(x)) with the layer's weights, three taps wide. */
static qtsa_tensor conv_relu(builder *b, qtsa_tensor x, const char *layer, int64_t stride) {
    char weights[32], bias[32];
    snprintf(weights, sizeof weights, "%s.weight", layer);
    snprintf(bias, sizeof bias, "%s.bias", layer);
    qtsa_tensor y = op(b, "conv1d", TENSORS(x, weight(b, weights), weight(b, bias)),
                       ATTRS(qtsa_attr_int("stride", stride), qtsa_attr_ints("padding", INTS(1))));
    return unary(b, "relu", y);
}

/* The squares of the channels from start to end. */
static qtsa_tensor squares(builder *b, qtsa_tensor x, int64_t start, int64_t end) {
    qtsa_tensor part = op(b, "slice", TENSORS(x),
                          ATTRS(qtsa_attr_int("axis", 1), qtsa_attr_int("start", start), qtsa_attr_int("end", end)));
    return unary(b, "square", part);
}

/* The magnitudes [1, BINS, 4] of the short-time Fourier transform, whose matrix is a convolution's weight. */
static qtsa_tensor spectrum(builder *b, qtsa_tensor samples) {
    qtsa_tensor x = op(b, "pad", TENSORS(samples),
                       ATTRS(qtsa_attr_ints("pads", INTS(0, 0, 0, 0, 0, 64)), qtsa_attr_string("mode", "reflect")));
    x = op(b, "conv1d", TENSORS(x, weight(b, "stft_conv.weight")), ATTRS(qtsa_attr_int("stride", 128)));
    qtsa_tensor real = squares(b, x, 0, BINS), imaginary = squares(b, x, BINS, 2 * BINS);
    return unary(b, "sqrt", op(b, "add", TENSORS(real, imaginary), NO_ATTRS));
}

/* The LSTM cell's output [1, HIDDEN] for x [1, HIDDEN]; its two states go on to the next window. */
static qtsa_tensor lstm(builder *b, qtsa_tensor x) {
    qtsa_tensor h = state(b, "h", QTSA_DTYPE_F32, INTS(1, HIDDEN));
    qtsa_tensor c = state(b, "c", QTSA_DTYPE_F32, INTS(1, HIDDEN));
    qtsa_tensor next[2] = {QTSA_NONE, QTSA_NONE};
    ops(b, "lstm_cell",
        TENSORS(x, h, c, weight(b, "lstm_cell.weight_ih"), weight(b, "lstm_cell.weight_hh"),
                weight(b, "lstm_cell.bias_ih"), weight(b, "lstm_cell.bias_hh")),
        NO_ATTRS, next, 2);
    op(b, "state_write", TENSORS(h, next[0]), NO_ATTRS);
    op(b, "state_write", TENSORS(c, next[1]), NO_ATTRS);
    return next[0];
}

static void build(builder *b) {
    qtsa_tensor samples = input(b, "samples", QTSA_DTYPE_F32, INTS(1, 1, VAD_WINDOW));

    qtsa_tensor x = spectrum(b, samples);
    x = conv_relu(b, x, "conv1", 1); /* [1, 128, 4] */
    x = conv_relu(b, x, "conv2", 2); /* [1, 64, 2] */
    x = conv_relu(b, x, "conv3", 2); /* [1, 64, 1] */
    x = conv_relu(b, x, "conv4", 1); /* [1, 128, 1] */

    x = op(b, "reshape", TENSORS(x), ATTRS(qtsa_attr_ints("shape", INTS(1, HIDDEN))));
    x = unary(b, "relu", lstm(b, x));
    x = op(b, "reshape", TENSORS(x), ATTRS(qtsa_attr_ints("shape", INTS(1, HIDDEN, 1))));
    x = op(b, "conv1d", TENSORS(x, weight(b, "final_conv.weight"), weight(b, "final_conv.bias")), NO_ATTRS);
    output(b, "probability", unary(b, "sigmoid", x));
}

static qtsa_status open_all(qtsa_backend backend, const char *path, vad_model *m) {
    qtsa_status status;
    if ((status = qtsa_weights_open(path, NULL, &m->weights)) != QTSA_OK ||
        (status = qtsa_graph_create("vad", &m->graph)) != QTSA_OK) {
        return status;
    }
    builder b = {m->graph, m->weights, QTSA_OK};
    build(&b);
    if ((status = b.status) != QTSA_OK || (status = qtsa_session_create(backend, &m->session)) != QTSA_OK) {
        return status;
    }
    return qtsa_plan_create(m->session, m->graph, NULL, &m->plan);
}

qtsa_status vad_open(qtsa_backend backend, const char *path, vad_model *out_model) {
    *out_model = (vad_model){0};
    qtsa_status status = open_all(backend, path, out_model);
    if (status != QTSA_OK) {
        vad_close(out_model);
    }
    return status;
}

qtsa_status vad_window(const vad_model *model, const float *samples, float *out_probability) {
    const qtsa_input inputs[] = {{samples, VAD_WINDOW * sizeof *samples}};
    const qtsa_output outputs[] = {{out_probability, sizeof *out_probability}};
    const qtsa_run_options options = {.struct_size = sizeof options, .threads = 1}; /* too little to share */
    return qtsa_plan_run(model->plan, inputs, 1, outputs, 1, &options);
}

qtsa_status vad_reset(const vad_model *model) { return qtsa_session_reset(model->session); }

void vad_close(vad_model *model) {
    qtsa_plan_free(model->plan);
    qtsa_session_free(model->session);
    qtsa_graph_free(model->graph);
    qtsa_weights_free(model->weights);
    *model = (vad_model){0};
}
