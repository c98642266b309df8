/*
 * Wrong operator-level calls of every kind, in one process. Each gives its status and
 * a message that names what was wrong, touches no output, and after it right calls
 * give right values. At the end nothing is left alive.
 */
#include <math.h>
#include <pthread.h>

#include "check.h"
#include "hooks.h"

enum { T = 2, N_IN = 4, N_OUT = 3 };

static qtsa_backend backend, other;
static qtsa_matrix weight, foreign, freed, wide, kernel;
static const float w[N_OUT][N_IN] = {{1, 2, 3, 4}, {-1, 0.5f, 0, 2}, {0.25f, -3, 1, -1}};
static const float x[T][N_IN] = {{1, -2, 3, 0.5f}, {0, 1, -1, 2}};
static float y[T][N_OUT];

static qtsa_matrix matrix(qtsa_backend on, const void *data, int64_t rows, int64_t columns) {
    qtsa_matrix_desc d;
    qtsa_matrix m;
    d = qtsa_matrix_desc_init();
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = rows;
    d.shape[1] = columns;
    d.data = data;
    d.bytes = (size_t)(rows * columns) * 4;
    OK(qtsa_matrix_create(on, &d, &m));
    return m;
}

static qtsa_product job_of(qtsa_matrix m, float *to, int64_t n_out) {
    qtsa_product j;
    SIZED(j);
    j.weight = m;
    j.y = to;
    j.n_out = n_out;
    return j;
}

static void right_values(void) {
    float got[T][N_OUT];
    qtsa_product j = job_of(weight, &got[0][0], N_OUT);
    int i, o, k;
    OK(qtsa_matmul(backend, &x[0][0], T, N_IN, &j, 1, 0));
    for (i = 0; i < T; i++)
        for (o = 0; o < N_OUT; o++) {
            double want = 0;
            for (k = 0; k < N_IN; k++) want += (double)x[i][k] * w[o][k];
            CHECK(fabs(got[i][o] - want) < 1e-5);
        }
}

static int untouched(void) {
    const float *p = &y[0][0];
    int i;
    for (i = 0; i < T * N_OUT; i++)
        if (p[i] != 77) return 0;
    return 1;
}

#define WRONG(code, call, ...)            \
    do {                                  \
        REFUSED(code, call, __VA_ARGS__); \
        CHECK(untouched());               \
        right_values();                   \
    } while (0)

/* Levels and scales apart. */
static void splits(void) {
    static int8_t levels[2][32];
    static float scales[2] = {1, 1};
    qtsa_matrix_desc d;
    qtsa_matrix m;
    qtsa_split_matrix split;
    SIZED(split);
    split.n_out = 2;
    split.n_in = split.block = 32;
    split.bits = 8;
    split.is_signed = 1;
    split.levels = levels;
    split.scales = scales;
    split.scale_dtype = QTSA_DTYPE_F32;
    d = qtsa_matrix_desc_init();
    d.split = &split;
    OK(qtsa_matrix_create(backend, &d, &m));
    OK(qtsa_matrix_free(m));
    d.dtype = QTSA_DTYPE_Q4_K;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "row of 32", "q4_K");
    CHECK(m == NULL);
    d.dtype = 0;
    d.rank = 2;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "split is given", "as well");
    d.rank = 0;
    d.name = "here";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "split is given", "as well");
    d.name = NULL;
    split.bits = 6;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "6 bits");
    split.bits = 8;
    split.block = 24;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "blocks of 24");
    split.block = 32;
    split.n_out = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "-1");
    split.n_out = 2;
    split.levels = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "levels is null");
    split.levels = levels;
    scales[1] = NAN;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "row 1", "NaN");
    scales[1] = 1;
    split.reserved = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "reserved is 1");
}

static void matrices(void) {
    qtsa_matrix_desc d;
    qtsa_matrix m = weight;
    qtsa_weights set;
    const int64_t shape[] = {2, 2};
    uint64_t bytes;
    float data[4] = {1, 2, 3, 4};
    d = qtsa_matrix_desc_init();
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, NULL, &m), "desc is null");
    CHECK(m == NULL);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, NULL), "out_matrix is null");
    d.struct_size = 8;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "struct_size is 8", "80");
    d.struct_size = 1000000;
    WRONG(QTSA_ERR_VERSION_MISMATCH, qtsa_matrix_create(backend, &d, &m), "1000000");
    d.struct_size = sizeof d;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "none of data, weights and split");
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = d.shape[1] = 2;
    d.bytes = 16;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "data is null", "16");
    d.data = data;
    d.bytes = 12;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_matrix_create(backend, &d, &m), "12 bytes", "f32[2, 2]", "16");
    d.bytes = 16;
    d.dtype = QTSA_DTYPE_I32;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "i32[2, 2]");
    d.dtype = QTSA_DTYPE_Q8_0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "row of 2", "q8_0", "32");
    d.dtype = 99;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "dtype 99");
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 5;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "rank is 5");
    d.rank = 0;
    d.bytes = 4;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "dimensions");
    d.rank = 2;
    d.bytes = 16;
    d.shape[1] = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "[2, 0]", "is 0");
    d.shape[1] = INT64_C(1) << 62;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "overflows");
    d.shape[1] = 2;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_create(NULL, &d, &m), "null", "qtsa_backend");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_create((qtsa_backend)weight, &d, &m), "is a qtsa_matrix",
          "want a qtsa_backend");

    OK(qtsa_weights_create(&set));
    OK(add_declared(set, "here", QTSA_DTYPE_F32, shape, 2));
    d.name = "here";
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "both data and weights");
    d = qtsa_matrix_desc_init();
    d.name = "here";
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_create(backend, &d, &m), "qtsa_weights");
    d.weights = set;
    WRONG(QTSA_ERR_INVALID_STATE, qtsa_matrix_create(backend, &d, &m), "here", "no data yet");
    d.name = "there";
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_matrix_create(backend, &d, &m), "there");
    d.name = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "name is null");
    d.name = "here";
    d.dtype = QTSA_DTYPE_F32;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_create(backend, &d, &m), "dtype is 1", "its own");
    d.dtype = 0;
    OK(set_dense(set, "here", data, sizeof data));
    OK(qtsa_matrix_create(backend, &d, &m));
    OK(qtsa_weights_free(set)); /* the matrix keeps what it is made of */
    {
        float in[2] = {1, 10}, out[2];
        qtsa_product j = job_of(m, out, 2);
        OK(qtsa_matmul(backend, in, 1, 2, &j, 1, 0));
        CHECK(fabs(out[0] - 21) < 1e-4 && fabs(out[1] - 43) < 1e-4);
    }
    OK(qtsa_matrix_free(m));
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_free(m), "freed", "qtsa_matrix");
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_bytes(m, &bytes), "freed");
    splits();
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matrix_bytes(NULL, &bytes), "null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matrix_bytes(weight, NULL), "out_bytes is null");
    OK(qtsa_matrix_free(NULL));
}

static void products(void) {
    const float *in = &x[0][0];
    float *out = &y[0][0];
    qtsa_product j = job_of(weight, out, N_OUT), two[2];
    float both[T * N_IN + T * N_OUT];
    int i;
    for (i = 0; i < T * N_IN; i++) both[i] = in[i];
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matmul(NULL, in, T, N_IN, &j, 1, 0), "null", "qtsa_backend");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, NULL, T, N_IN, &j, 1, 0), "matmul", "x is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, NULL, 1, 0), "matmul", "products is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 0, 0), "n_products is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, SIZE_MAX, 0), "18446744073709551615");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, -1, N_IN, &j, 1, 0), "t is -1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, 0, &j, 1, 0), "n_in is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, -4, &j, 1, 0), "n_in is -4");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, INT64_MAX, N_IN, &j, 1, 0), "overflows");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_matmul(backend, in, T, N_IN - 1, &j, 1, 0), "product 0", "f32[3, 4]", "4", "3");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 4), "flags has 0x4");

    OK(qtsa_matmul(backend, in, 0, N_IN, &j, 1, 0)); /* nothing to do is done */
    OK(qtsa_matmul(backend, NULL, 0, N_IN, &j, 1, 0));
    CHECK(untouched());

    j.y = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "product 0", "y null");
    j.y = out;
    j.n_out = 2;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "product 0", "n_out 2", "has 3");
    j.n_out = N_OUT;
    j.activation = 7;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "product 0", "activation 7");
    j.activation = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "activation -1");
    j.activation = 0;
    j.reserved = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "product 0", "reserved is 1");
    j.reserved = 0;

    two[0] = j;
    two[1] = job_of(foreign, both, N_OUT);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "product 1", "another backend",
          "reference");
    two[1].weight = freed;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "product 1", "freed");
    two[1].weight = NULL;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "product 1", "null");
    two[1].weight = (qtsa_matrix)backend;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "is a qtsa_backend");
    two[1] = job_of(wide, both, N_OUT); /* jobs with different n_in */
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "product 1", "rows of 5", "4");

    j.y = both + 3;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, both, T, N_IN, &j, 1, 0), "y of product 0", "overlaps x");
    j.y = both + T * N_IN - 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, both, T, N_IN, &j, 1, 0), "overlaps");
    j.bias = both + T * N_IN + 1;
    j.y = both + T * N_IN;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, &j, 1, 0), "overlaps bias");
    j.bias = NULL;
    two[0] = two[1] = j;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, in, T, N_IN, two, 2, 0), "y of product 1",
          "overlaps y of product 0");
    OK(qtsa_matmul(backend, both, T, N_IN, &j, 1, 0)); /* side by side is fine */
}

static void convolutions(void) {
    float in[4 * 3 * 2], out[4 * 3];
    qtsa_conv2d_geometry g;
    qtsa_conv2d_norm n;
    qtsa_product j = job_of(kernel, out, 1);
    int i;
    SIZED(g);
    SIZED(n);
    for (i = 0; i < 4 * 3 * 2; i++) in[i] = (float)i;
    g.h = g.oh = 4;
    g.w = g.ow = 3;
    g.c_in = 2;
    g.k = 3;
    g.stride = 1;
    n.eps = 1e-5;
    OK(qtsa_conv2d(backend, in, &g, &n, &j, 0));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, NULL, &g, NULL, &j, 0), "conv2d", "x is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, NULL, NULL, &j, 0), "geometry is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, NULL, 0), "product is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 8), "flags");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, -1), "flags");
    g.h = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "h is 0");
    g.h = 4;
    g.c_in = -2;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "c_in is -2");
    g.c_in = 2;
    g.k = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "k is 0");
    g.k = 3;
    g.stride = 0;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "stride is 0");
    g.stride = 1;
    g.oh = 5;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "oh is 5", "= 4");
    g.oh = 4;
    g.ow = 1;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "ow is 1", "= 3");
    g.ow = 3;
    g.c_in = 3;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "rows of 18", "27");
    g.c_in = 2;
    n.kind = QTSA_NORM_GROUP;
    n.groups = 0;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_conv2d(backend, in, &g, &n, &j, 0), "groups is 0", "2 channels");
    n.groups = 3;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_conv2d(backend, in, &g, &n, &j, 0), "groups is 3", "2 channels");
    n.groups = 2;
    n.eps = -1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, &n, &j, 0), "eps is -1");
    n.eps = 1e-5;
    n.kind = 3;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, &n, &j, 0), "kind is 3");
    n.kind = QTSA_NORM_NONE;
    n.gamma = in;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, &n, &j, 0), "gamma");
    n.gamma = NULL;
    j.y = in + 20;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "y", "overlaps x");
    j.y = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "y is null");
    j.y = out;
    j.weight = freed;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "freed");
    j.weight = foreign;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_conv2d(backend, in, &g, NULL, &j, 0), "another backend");
    j.weight = kernel;
    OK(qtsa_conv2d(backend, in, &g, NULL, &j, 0));
}

static void attentions(void) {
    float q[4 * 6], k[4 * 4], v[4 * 4], out[4 * 6];
    memset(q, 0, sizeof q);
    memset(k, 0, sizeof k);
    memset(v, 0, sizeof v);
#define ATTEND(tq, tk, heads, kv, dim, causal, window, scale) \
    attention_of(backend, q, k, v, tq, tk, heads, kv, dim, causal, window, scale, out, 0)
    OK(ATTEND(3, 4, 2, 1, 2, 1, 2, 0));
    WRONG(QTSA_ERR_SHAPE_MISMATCH, ATTEND(3, 4, 3, 2, 2, 0, 0, 0), "heads is 3", "kv_heads, 2");
    WRONG(QTSA_ERR_SHAPE_MISMATCH, ATTEND(4, 3, 2, 2, 2, 1, 0, 0), "tq is 4", "tk, 3");
    OK(ATTEND(4, 3, 2, 2, 2, 0, 0, 0));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 2, 2, 0, 2, 0), "window is 2", "causal");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 2, 2, 1, -1, 0), "window is -1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 0, 2, 2, 2, 0, 0, 0), "tk is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(-3, 4, 2, 2, 2, 0, 0, 0), "tq is -3");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 0, 2, 2, 0, 0, 0), "heads is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 0, 2, 0, 0, 0), "kv_heads is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 2, 0, 0, 0, 0), "head_dim is 0");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 2, INT64_MAX, 0, 0, 0), "overflows");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, ATTEND(3, 4, 2, 2, 2, 0, 0, NAN), "scale is NaN");
    OK(ATTEND(0, 4, 2, 2, 2, 0, 0, 0));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, NULL, k, v, 3, 4, 2, 2, 2, 0, 0, 0, out, 0), "q is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, q, NULL, v, 3, 4, 2, 2, 2, 0, 0, 0, out, 0), "k is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, q, k, NULL, 3, 4, 2, 2, 2, 0, 0, 0, out, 0), "v is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, q, k, v, 3, 4, 2, 2, 2, 0, 0, 0, NULL, 0), "out is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, q, k, v, 3, 4, 2, 2, 2, 0, 0, 0, v + 1, 0), "out",
          "overlaps v");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, attention_of(backend, q, k, v, 3, 4, 2, 2, 2, 0, 0, 0, out, 16), "flags");
}

static void operators(void) {
    qtsa_operand in[2], out[1];
    qtsa_attr attr = qtsa_attr_int("axis", 5);
    float data[6] = {1, 2, 3, 4, 5, 6}, result[6];
    memset(in, 0, sizeof in);
    in[0].struct_size = sizeof in[0];
    memset(out, 0, sizeof out);
    out[0].struct_size = sizeof out[0];
    in[0].dtype = QTSA_DTYPE_F32;
    in[0].rank = 2;
    in[0].shape[0] = 2;
    in[0].shape[1] = 3;
    in[0].data = data;
    out[0] = in[0];
    out[0].data = result;
    OK(qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, NULL, in, 1, NULL, 0, out, 1, 0), "op is null");
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_op_run(backend, "relux", in, 1, NULL, 0, out, 1, 0), "relux");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", NULL, 1, NULL, 0, out, 1, 0), "inputs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 1, out, 1, 0), "attrs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, NULL, 1, 0), "outputs is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 0, NULL, 0, out, 1, 0), "relu", "missing");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 0, 0), "relu", "0 outputs");
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_op_run(backend, "relu", in, 1, &attr, 1, out, 1, 0), "relu", "axis");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "softmax", in, 1, &attr, 1, out, 1, 0), "softmax", "5");
    attr.name = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "softmax", in, 1, &attr, 1, out, 1, 0), "name is null");
    out[0].shape[1] = 2;
    WRONG(QTSA_ERR_SHAPE_MISMATCH, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "output 0", "f32[2, 2]",
          "f32[2, 3]");
    out[0].shape[1] = 3;
    out[0].data = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "output 0",
          "data is null");
    out[0].data = data + 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "output 0 (",
          "overlaps input 0");
    out[0].data = result;
    in[0].rank = 5;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "inputs[0]", "rank is 5");
    in[0].rank = 2;
    in[0].data = NULL;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "input 0",
          "data is null");
    in[0].data = data;
    in[0].dtype = QTSA_DTYPE_Q8_0;
    in[0].shape[1] = 32;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "quantised", "matrix");
    SIZED(in[0]);
    in[0].matrix = foreign;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "another backend");
    in[0].matrix = freed;
    WRONG(QTSA_ERR_INVALID_HANDLE, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "inputs[0]", "freed");
    in[0].matrix = weight;
    in[0].data = data;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 0), "both data and a matrix");
    in[0].data = NULL;
    in[1] = out[0];
    in[1].data = data;
    WRONG(QTSA_ERR_UNSUPPORTED, qtsa_op_run(backend, "state_write", in, 2, NULL, 0, out, 1, 0), "state_write", "state");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "relu", in, 1, NULL, 0, out, 1, 32), "flags");
}

static void thresholds(void) {
    const int64_t sizes[] = {64, 64, 64}, negative[] = {64, -1, 64};
    qtsa_calibrate_options o = qtsa_calibrate_options_init();
    qtsa_threshold t = {sizeof t, "matmul", 1, 0};
    int32_t wants = 9;
    size_t n;
    WRONG(QTSA_ERR_NOT_FOUND, qtsa_backend_wants(backend, "matmulx", sizes, 3, &wants), "matmulx");
    CHECK(wants == 0);
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_wants(backend, "matmul", sizes, 2, &wants), "2 sizes", "want 3");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_wants(backend, "matmul", negative, 3, &wants), "-1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_wants(backend, "matmul", NULL, 3, &wants), "shape is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_wants(backend, NULL, sizes, 3, &wants), "op is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_wants(backend, "matmul", sizes, 3, NULL), "out_wants is null");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, calibrate(backend, 4), "4");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, calibrate(backend, -1), "-1");
    OK(calibrate(backend, QTSA_CALIBRATE_OFF));
    WRONG(QTSA_ERR_INVALID_ARGUMENT, set_threshold(backend, "matmul", -1, 0), "min_flops is -1");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, set_threshold(backend, "matmul", NAN, 0), "NaN");
    WRONG(QTSA_ERR_NOT_FOUND, set_threshold(backend, "matmulx", 1, 0), "matmulx");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, set_threshold(backend, NULL, 1, 0), "threshold 0", "op is null");
    o.n_thresholds = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_calibrate(backend, &o), "thresholds is null");
    o.thresholds = &t;
    t.struct_size = 8;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_calibrate(backend, &o), "thresholds", "struct_size is 8");
    o.reserved = 1;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_calibrate(backend, &o), "reserved is 1");
    o.struct_size = 8;
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_calibrate(backend, &o), "struct_size is 8");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_stats_copy(backend, 2, 0, NULL, 0, &n), "format is 2");
    WRONG(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_stats_copy(backend, QTSA_FORMAT_TEXT, 2, NULL, 0, &n), "flags",
          "0x2");
}

/* A weight that is freed while others use it: they end, and then find it freed. */
static void *until_freed(void *of) {
    for (;;) {
        float got[T][N_OUT];
        qtsa_product j = job_of(*(qtsa_matrix *)of, &got[0][0], N_OUT);
        qtsa_status status = qtsa_matmul(backend, &x[0][0], T, N_IN, &j, 1, 0);
        if (status != QTSA_OK) {
            REFUSED(QTSA_ERR_INVALID_HANDLE, status, "freed");
            return NULL;
        }
        CHECK(fabs(got[0][0] - 8) < 1e-5);
    }
}

static void freeing_under_use(void) {
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    int round, i;
    for (round = 0; round < 20; round++) {
        qtsa_matrix m = matrix(backend, w, N_OUT, N_IN);
        for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, until_freed, &m) == 0);
        right_values();
        OK(qtsa_matrix_free(m));
        for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

int main(void) {
    qtsa_backend_options o;
    float zeros[18];
    int i;
    memset(zeros, 0, sizeof zeros);
    for (i = 0; i < T * N_OUT; i++) (&y[0][0])[i] = 77;
    o = qtsa_backend_options_init();
    o.threads = 1;
    OK(qtsa_backend_create(&o, &backend));
    o.backend = "reference";
    OK(qtsa_backend_create(&o, &other));
    weight = matrix(backend, w, N_OUT, N_IN);
    foreign = matrix(other, w, N_OUT, N_IN);
    freed = matrix(backend, w, N_OUT, N_IN);
    OK(qtsa_matrix_free(freed));
    wide = matrix(backend, zeros, N_OUT, 5);
    kernel = matrix(backend, zeros, 1, 18);
    right_values();

    matrices();
    products();
    convolutions();
    attentions();
    operators();
    thresholds();
    freeing_under_use();

    OK(qtsa_backend_free(backend)); /* the matrices keep it */
    OK(qtsa_matrix_free(weight));
    OK(qtsa_matrix_free(foreign));
    OK(qtsa_matrix_free(wide));
    OK(qtsa_matrix_free(kernel));
    OK(qtsa_backend_free(other));
    CHECK(qtsa_test_objects() == 0);
    CHECK(qtsa_test_tensor_bytes() == 0);
    printf("ok\n");
    return 0;
}
