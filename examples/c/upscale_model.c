#include "upscale_model.h"

#include "builder.h"
#include "example.h"
#include "tfjs.h"

/* A convolution that keeps the size of the picture. */
static qtsa_tensor conv(builder *b, qtsa_tensor x, const char *layer, int64_t kernel) {
    char weights[32], bias[32];
    snprintf(weights, sizeof weights, "%s/kernel", layer);
    snprintf(bias, sizeof bias, "%s/bias", layer);
    return op(b, "conv2d", TENSORS(x, weight(b, weights), weight(b, bias)),
              ATTRS(qtsa_attr_ints("padding", INTS(kernel / 2))));
}

static qtsa_tensor relu(builder *b, qtsa_tensor x) { return op(b, "relu", TENSORS(x), NO_ATTRS); }

static qtsa_tensor add(builder *b, qtsa_tensor x, qtsa_tensor y) { return op(b, "add", TENSORS(x, y), NO_ATTRS); }

/* Joins the channels. */
static qtsa_tensor concat(builder *b, qtsa_tensor x, qtsa_tensor y) {
    return op(b, "concat", TENSORS(x, y), ATTRS(qtsa_attr_int("axis", 1)));
}

/* x with what a layer sees in it beside it, mixed and added to x. */
static qtsa_tensor residual_dense(builder *b, qtsa_tensor x, const char *grow, const char *mix) {
    return add(b, conv(b, concat(b, x, relu(b, conv(b, x, grow, 3))), mix, 1), x);
}

/* The layers have the names that model.json gives them. */
static void build(builder *b, int height, int width) {
    qtsa_tensor picture = input(b, "picture", QTSA_DTYPE_F32, INTS(1, 3, height, width));

    qtsa_tensor shallow = conv(b, picture, "F_m1", 3);
    qtsa_tensor first = residual_dense(b, conv(b, shallow, "F_0", 3), "F_1_1", "LFF_1");
    qtsa_tensor second = residual_dense(b, first, "F_2_1", "LFF_2");
    qtsa_tensor features = conv(b, conv(b, concat(b, first, second), "GFF_1", 1), "GFF_2", 3);
    features = add(b, features, shallow);

    qtsa_tensor x = relu(b, conv(b, features, "UPN1", 5));
    x = relu(b, conv(b, x, "UPN2", 3));
    x = conv(b, x, "UPN3", 3);
    x = op(b, "upsample", TENSORS(x), ATTRS(qtsa_attr_ints("scale", INTS(UPSCALE_FACTOR))));
    output(b, "larger", conv(b, x, "SR", 3));
}

/* The models for other factors have the same layers, and other channels in the last ones. */
static void check_factor(qtsa_weights weights, const char *folder) {
    qtsa_tensor_info info;
    CHECK(qtsa_weights_info(weights, "SR/kernel", 0, &info));
    if (info.shape[1] != 3 * UPSCALE_FACTOR * UPSCALE_FACTOR) {
        fail("%s is not the model that makes pictures %d times as large", folder, UPSCALE_FACTOR);
    }
}

upscale_model upscale_open(qtsa_backend backend, const char *folder, int height, int width) {
    upscale_model m = {.height = height, .width = width};
    qtsa_weights weights = tfjs_open(folder);
    check_factor(weights, folder);

    CHECK(qtsa_graph_create("upscale", &m.graph));
    builder b = {m.graph, weights, QTSA_OK};
    build(&b, height, width);
    CHECK(b.status);
    CHECK(qtsa_weights_free(weights)); /* the graph keeps them */

    CHECK(qtsa_session_create(backend, &m.session));
    CHECK(qtsa_plan_create(m.session, m.graph, NULL, &m.plan));
    return m;
}

void upscale_window(const upscale_model *model, const float *pixels, float *out_pixels) {
    const size_t bytes = 3 * (size_t)model->height * (size_t)model->width * sizeof *pixels;
    const qtsa_input inputs[] = {{pixels, bytes}};
    const qtsa_output outputs[] = {{out_pixels, UPSCALE_FACTOR * UPSCALE_FACTOR * bytes}};
    CHECK(qtsa_plan_run(model->plan, inputs, 1, outputs, 1, NULL));
}

void upscale_close(upscale_model *model) {
    CHECK(qtsa_plan_free(model->plan));
    CHECK(qtsa_session_free(model->session));
    CHECK(qtsa_graph_free(model->graph));
}
