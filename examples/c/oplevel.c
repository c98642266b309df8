/*
 * oplevel: a block of a diffusion model whose graph belongs to the host: the library
 * runs single operators of it, on whatever device there is.
 *
 *     x -> GroupNorm -> SiLU -> conv 3x3 -> + x -> GroupNorm -> q, k, v
 *       -> attention -> projection -> + -> y
 *
 * The image is [height*width, channels]. The host walks its own list of nodes, keeps
 * the tensors between them, and adds what is added itself.
 */
#include <math.h>

#include "example.h"

static const char usage[] =
    "usage: oplevel [options]\n"
    "Runs a block of a diffusion model, operator by operator, and says what came of it.\n"
    "\n"
    "  --backend NAME    auto, cpu, cuda, vulkan, metal or reference\n"
    "  --compare NAME    runs it on this backend, too, and compares\n"
    "  --side N          the image is N by N pixels (16)\n"
    "  --repeat N        how often (3)\n"
    "  --stats           what the calls did\n";

enum { CHANNELS = 64, GROUPS = 8, HEADS = 4, HEAD_DIM = CHANNELS / HEADS };

/* ------------------------------------------------------- The host's graph -- */

enum { X, HIDDEN, SUM, NORMED_Q, K, V, MIXED, PROJECTED, Y, TENSORS };

typedef enum { NORM_CONV, NORM_QKV, ATTENTION, PROJECTION, ADD } kind;

typedef struct {
    kind kind;
    int in[3];
    int out[3];
} node;

static const node graph[] = {
    {NORM_CONV, {X}, {HIDDEN}},          {ADD, {X, HIDDEN}, {SUM}},
    {NORM_QKV, {SUM}, {NORMED_Q, K, V}}, {ATTENTION, {NORMED_Q, K, V}, {MIXED}},
    {PROJECTION, {MIXED}, {PROJECTED}},  {ADD, {SUM, PROJECTED}, {Y}},
};

/* The weights of the block on one backend. */
typedef struct {
    qtsa_backend backend;
    char device[256];
    qtsa_matrix conv, qkv[3], projection;
    float *conv_bias, *gamma, *beta;
} block;

/* The same numbers on every machine, between -scale and scale. */
static float *numbers(size_t n, float scale, uint32_t seed) {
    float *x = allocate(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = scale * ((float)(seed >> 8) / 8388608.0f - 1.0f);
    }
    return x;
}

/* A matrix from numbers that the host need not keep. */
static qtsa_matrix matrix(qtsa_backend backend, int64_t n_out, int64_t n_in, uint32_t seed) {
    float *data = numbers((size_t)(n_out * n_in), 1.0f / sqrtf((float)n_in), seed);
    qtsa_matrix_desc desc;
    qtsa_matrix made;
    desc = qtsa_matrix_desc_init();
    desc.dtype = QTSA_DTYPE_F32;
    desc.rank = 2;
    desc.shape[0] = n_out;
    desc.shape[1] = n_in;
    desc.data = data;
    desc.bytes = (size_t)(n_out * n_in) * sizeof *data;
    CHECK(qtsa_matrix_create(backend, &desc, &made));
    free(data);
    return made;
}

static block open_block(const char *backend) {
    block b;
    b.backend = open_backend(backend, b.device, sizeof b.device);
    b.conv = matrix(b.backend, CHANNELS, 3 * 3 * CHANNELS, 1);
    for (uint32_t i = 0; i < 3; i++) {
        b.qkv[i] = matrix(b.backend, CHANNELS, CHANNELS, 2 + i);
    }
    b.projection = matrix(b.backend, CHANNELS, CHANNELS, 5);
    b.conv_bias = numbers(CHANNELS, 0.1f, 6);
    b.gamma = numbers(CHANNELS, 1, 7);
    b.beta = numbers(CHANNELS, 0.1f, 8);
    return b;
}

static void close_block(const block *b) {
    CHECK(qtsa_matrix_free(b->conv));
    for (int i = 0; i < 3; i++) {
        CHECK(qtsa_matrix_free(b->qkv[i]));
    }
    CHECK(qtsa_matrix_free(b->projection));
    CHECK(qtsa_backend_free(b->backend));
    free(b->conv_bias);
    free(b->gamma);
    free(b->beta);
}

/* One convolution or product over the normalised image. A 1 by 1 convolution is the
 * product with each pixel, and has the norm in it. */
static void convolve(const block *b, int64_t side, int64_t k, qtsa_matrix weight, const float *bias, int32_t silu,
                     const float *x, float *y) {
    const qtsa_conv2d_geometry g = {
        .struct_size = sizeof g, .h = side, .w = side, .c_in = CHANNELS, .k = k, .stride = 1, .oh = side, .ow = side};
    const qtsa_conv2d_norm norm = {.struct_size = sizeof norm,
                                   .kind = QTSA_NORM_GROUP,
                                   .silu = silu,
                                   .groups = GROUPS,
                                   .eps = 1e-5,
                                   .gamma = b->gamma,
                                   .beta = b->beta};
    const qtsa_product product = {
        .struct_size = sizeof product, .weight = weight, .bias = bias, .y = y, .n_out = CHANNELS};
    CHECK(qtsa_conv2d(b->backend, x, &g, &norm, &product, QTSA_ON_CPU_IF_DECLINED));
}

static void attend(const block *b, int64_t pixels, const float *q, const float *k, const float *v, float *out) {
    const qtsa_attention_desc desc = {.struct_size = sizeof desc,
                                      .q = q,
                                      .k = k,
                                      .v = v,
                                      .out = out,
                                      .tq = pixels,
                                      .tk = pixels,
                                      .heads = HEADS,
                                      .kv_heads = HEADS,
                                      .head_dim = HEAD_DIM};
    CHECK(qtsa_attention(b->backend, &desc, QTSA_ON_CPU_IF_DECLINED));
}

/* Walks the graph once. */
static void walk(const block *b, int64_t side, float *tensor[TENSORS]) {
    const int64_t pixels = side * side;
    for (size_t i = 0; i < sizeof graph / sizeof *graph; i++) {
        const node *n = &graph[i];
        float *const *in = tensor;
        switch (n->kind) {
            case NORM_CONV:
                convolve(b, side, 3, b->conv, b->conv_bias, 1, in[n->in[0]], tensor[n->out[0]]);
                break;
            case NORM_QKV:
                for (int j = 0; j < 3; j++) {
                    convolve(b, side, 1, b->qkv[j], NULL, 0, in[n->in[0]], tensor[n->out[j]]);
                }
                break;
            case ATTENTION:
                attend(b, pixels, in[n->in[0]], in[n->in[1]], in[n->in[2]], tensor[n->out[0]]);
                break;
            case PROJECTION: {
                const qtsa_product product = {
                    .struct_size = sizeof product, .weight = b->projection, .y = tensor[n->out[0]], .n_out = CHANNELS};
                CHECK(qtsa_matmul(b->backend, in[n->in[0]], pixels, CHANNELS, &product, 1, QTSA_ON_CPU_IF_DECLINED));
                break;
            }
            case ADD: /* not worth any device's while */
                for (int64_t j = 0; j < pixels * CHANNELS; j++) {
                    tensor[n->out[0]][j] = in[n->in[0]][j] + in[n->in[1]][j];
                }
                break;
        }
    }
}

/* Runs the block on a backend and gives y. */
static float *run(const char *backend, int64_t side, int repeat, int stats) {
    const size_t n = (size_t)(side * side) * CHANNELS;
    block b = open_block(backend);
    float *tensor[TENSORS];
    tensor[X] = numbers(n, 1, 9);
    for (int i = X + 1; i < TENSORS; i++) {
        tensor[i] = allocate(n * sizeof(float));
    }
    double best = HUGE_VAL;
    for (int i = 0; i < repeat; i++) {
        double start = seconds();
        walk(&b, side, tensor);
        best = fmin(best, seconds() - start);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(tensor[Y][i]);
    }
    printf("%s: mean |y| %.6f, %.3f ms\n", b.device, sum / (double)n, best * 1e3);
    if (stats) {
        size_t size;
        CHECK(qtsa_backend_stats_copy(b.backend, QTSA_FORMAT_TEXT, 0, NULL, 0, &size));
        char *text = allocate(size + 256); /* it may grow by a digit */
        CHECK(qtsa_backend_stats_copy(b.backend, QTSA_FORMAT_TEXT, 0, text, size + 256, &size));
        fputs(text, stdout);
        free(text);
    }
    close_block(&b);
    for (int i = X; i < Y; i++) {
        free(tensor[i]);
    }
    return tensor[Y];
}

int main(int argc, char **argv) {
    const char *backend = NULL, *compare = NULL, *value;
    int side = 16, repeat = 3, stats = 0;
    (void)argc;
    for (int i = 1; argv[i] != NULL; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        } else if ((value = option(argv, &i, "--backend")) != NULL) {
            backend = value;
        } else if ((value = option(argv, &i, "--compare")) != NULL) {
            compare = value;
        } else if ((value = option(argv, &i, "--side")) != NULL) {
            side = option_int("--side", value, 1, 256);
        } else if ((value = option(argv, &i, "--repeat")) != NULL) {
            repeat = option_int("--repeat", value, 1, 1000000);
        } else if (strcmp(argv[i], "--stats") == 0) {
            stats = 1;
        } else {
            fail("%s is not understood\n%s", argv[i], usage);
        }
    }
    float *y = run(backend, side, repeat, stats);
    if (compare != NULL) {
        float *other = run(compare, side, 1, stats);
        double top = 1, worst = 0;
        for (size_t i = 0; i < (size_t)side * (size_t)side * CHANNELS; i++) {
            top = fmax(top, fabs((double)other[i]));
            worst = fmax(worst, fabs((double)y[i] - other[i]));
        }
        printf("largest difference: %.2g of %.3g\n", worst, top);
        free(other);
        if (!(worst / top < 1e-3)) {
            fail("the backends do not agree");
        }
    }
    free(y);
    return EXIT_SUCCESS;
}
