/*
 * Operator-level calls give what plain loops in double give: products of several
 * jobs over one input, fused convolution, attention, and an operator by name; from
 * many threads at once, too.
 */
#include <math.h>
#include <pthread.h>

#include "check.h"

static qtsa_backend backend;

/* Numbers between -1 and 1, the same for the same seed. */
static void fill(float *x, size_t n, uint32_t seed) {
    size_t i;
    for (i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static float *numbers(size_t n, uint32_t seed) {
    float *x = malloc((n ? n : 1) * sizeof *x);
    CHECK(x != NULL);
    fill(x, n, seed);
    return x;
}

static double gelu(double x) { return x / 2 * (1 + erf(x / sqrt(2))); }
static double silu(double x) { return x / (1 + exp(-x)); }

/* The largest difference, relative to the largest magnitude and at least to 1. */
static void near(const float *got, const double *want, size_t n, double tolerance, const char *what) {
    double top = 1, worst = 0;
    size_t i, at = 0;
    for (i = 0; i < n; i++)
        if (fabs(want[i]) > top) top = fabs(want[i]);
    for (i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]) / top;
        if (!(d <= worst)) worst = d, at = i;
    }
    if (worst <= tolerance) return;
    fprintf(stderr, "%s: element %lu is %g, want %g: off by %g\n", what, (unsigned long)at, got[at], want[at], worst);
    exit(1);
}

static qtsa_matrix matrix(const float *data, int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    qtsa_matrix_desc desc;
    qtsa_matrix m;
    uint64_t bytes;
    int i;
    desc = qtsa_matrix_desc_init();
    desc.dtype = QTSA_DTYPE_F32;
    desc.rank = rank;
    desc.shape[0] = a;
    desc.shape[1] = b;
    desc.shape[2] = c;
    desc.shape[3] = d;
    desc.data = data;
    desc.bytes = 4;
    for (i = 0; i < rank; i++) desc.bytes *= (size_t)desc.shape[i];
    OK(qtsa_matrix_create(backend, &desc, &m));
    OK(qtsa_matrix_bytes(m, &bytes));
    CHECK(bytes == desc.bytes);
    return m;
}

/* Two jobs over one input, one with a bias and an activation. */
static void products(int64_t t, int64_t n_in, int64_t n_out, int shift) {
    float *x = numbers((size_t)(t * n_in) + 1, 1), *w = numbers((size_t)(n_out * n_in), 2);
    float *v = numbers((size_t)(3 * n_in), 3), *bias = numbers((size_t)n_out, 4);
    char *memory = malloc((size_t)(t * (n_out + 3)) * 4 + 16);
    float *y = (float *)(void *)(memory + shift), *z = y + t * n_out;
    float *aligned = malloc((size_t)(t * (n_out + 3)) * 4);
    double *want = malloc((size_t)(t * (n_out + 3)) * sizeof *want);
    qtsa_product jobs[2];
    int64_t i, o, k;
    memset(jobs, 0, sizeof jobs);
    jobs[0].struct_size = sizeof jobs[0];
    jobs[0].weight = matrix(w, 2, n_out, n_in, 0, 0);
    jobs[0].bias = bias;
    jobs[0].y = y;
    jobs[0].n_out = n_out;
    jobs[0].activation = QTSA_ACTIVATION_GELU;
    jobs[1].weight = matrix(v, 2, 3, n_in, 0, 0);
    jobs[1].y = z;
    jobs[1].n_out = 3;
    if (shift) { /* the input, too, begins anywhere */
        char *moved = malloc((size_t)(t * n_in) * 4 + 16);
        memcpy(moved + shift, x, (size_t)(t * n_in) * 4);
        OK(qtsa_matmul(backend, (const float *)(const void *)(moved + shift), t, n_in, jobs, 2, 0));
        free(moved);
    } else {
        OK(qtsa_matmul(backend, x, t, n_in, jobs, 2, 0));
    }
    for (i = 0; i < t; i++) {
        for (o = 0; o < n_out + 3; o++) {
            const float *row = o < n_out ? w + o * n_in : v + (o - n_out) * n_in;
            double sum = 0;
            for (k = 0; k < n_in; k++) sum += (double)x[i * n_in + k] * row[k];
            if (o < n_out)
                want[i * n_out + o] = gelu(sum + bias[o]);
            else
                want[t * n_out + i * 3 + o - n_out] = sum;
        }
    }
    memcpy(aligned, y, (size_t)(t * (n_out + 3)) * 4);
    near(aligned, want, (size_t)(t * (n_out + 3)), 2e-5, "matmul");
    OK(qtsa_matrix_free(jobs[0].weight));
    OK(qtsa_matrix_free(jobs[1].weight));
    free(x), free(w), free(v), free(bias), free(memory), free(aligned), free(want);
}

/* x normalised as loaded: the whole of it, in double. */
static void normalise(double *x, int64_t pixels, int64_t channels, const qtsa_conv2d_norm *n) {
    int64_t p, c;
    if (n->kind != QTSA_NORM_NONE) {
        int64_t groups = n->kind == QTSA_NORM_GROUP ? n->groups : 1, size = channels / groups, g, first;
        int64_t step = n->kind == QTSA_NORM_GROUP ? pixels : 1;
        for (first = 0; first < pixels; first += step)
            for (g = 0; g < groups; g++) {
                double mean = 0, variance = 0;
                for (p = first; p < first + step; p++)
                    for (c = g * size; c < (g + 1) * size; c++) mean += x[p * channels + c];
                mean /= (double)(step * size);
                for (p = first; p < first + step; p++)
                    for (c = g * size; c < (g + 1) * size; c++)
                        variance += (x[p * channels + c] - mean) * (x[p * channels + c] - mean);
                variance /= (double)(step * size);
                for (p = first; p < first + step; p++)
                    for (c = g * size; c < (g + 1) * size; c++) {
                        double y = (x[p * channels + c] - mean) / sqrt(variance + n->eps);
                        if (n->gamma) y *= n->gamma[c];
                        if (n->beta) y += n->beta[c];
                        x[p * channels + c] = y;
                    }
            }
    }
    if (n->silu)
        for (p = 0; p < pixels * channels; p++) x[p] = silu(x[p]);
}

static void convolution(int64_t h, int64_t w, int64_t c_in, int64_t k, int64_t stride, int64_t n_out, int32_t kind,
                        int32_t with_silu) {
    qtsa_conv2d_geometry g;
    qtsa_conv2d_norm norm;
    qtsa_product job;
    int64_t pad = k / 2, oy, ox, o, ky, kx, c, i;
    float *x = numbers((size_t)(h * w * c_in), 5), *weight = numbers((size_t)(n_out * k * k * c_in), 6);
    float *gamma = numbers((size_t)c_in, 7), *beta = numbers((size_t)c_in, 8), *bias = numbers((size_t)n_out, 9), *y;
    double *loaded = malloc((size_t)(h * w * c_in) * sizeof *loaded), *want;
    for (i = 0; i < h * w * c_in; i++) x[i] += 3; /* a mean that is not 0 */
    SIZED(g);
    SIZED(norm);
    SIZED(job);
    g.h = h, g.w = w, g.c_in = c_in, g.k = k, g.stride = stride;
    g.oh = (h + 2 * pad - k) / stride + 1;
    g.ow = (w + 2 * pad - k) / stride + 1;
    norm.kind = kind;
    norm.silu = with_silu;
    norm.groups = c_in % 4 == 0 ? 4 : 1;
    norm.eps = 1e-5;
    if (kind != QTSA_NORM_NONE) norm.gamma = gamma, norm.beta = beta;
    y = malloc((size_t)(g.oh * g.ow * n_out) * sizeof *y);
    want = malloc((size_t)(g.oh * g.ow * n_out) * sizeof *want);
    job.weight = matrix(weight, 4, n_out, k, k, c_in);
    job.bias = bias;
    job.y = y;
    job.n_out = n_out;
    job.activation = QTSA_ACTIVATION_RELU;
    OK(qtsa_conv2d(backend, x, &g, kind || with_silu ? &norm : NULL, &job, 0));
    OK(qtsa_conv2d(backend, x, &g, kind || with_silu ? &norm : NULL, &job, 0));
    for (i = 0; i < h * w * c_in; i++) loaded[i] = x[i];
    normalise(loaded, h * w, c_in, &norm);
    for (oy = 0; oy < g.oh; oy++)
        for (ox = 0; ox < g.ow; ox++)
            for (o = 0; o < n_out; o++) {
                double sum = bias[o];
                for (ky = 0; ky < k; ky++)
                    for (kx = 0; kx < k; kx++) {
                        int64_t iy = oy * stride + ky - pad, ix = ox * stride + kx - pad;
                        if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
                        for (c = 0; c < c_in; c++)
                            sum += loaded[(iy * w + ix) * c_in + c] * weight[((o * k + ky) * k + kx) * c_in + c];
                    }
                want[(oy * g.ow + ox) * n_out + o] = sum > 0 ? sum : 0;
            }
    near(y, want, (size_t)(g.oh * g.ow * n_out), 3e-5, "conv2d");
    OK(qtsa_matrix_free(job.weight));
    free(x), free(weight), free(gamma), free(beta), free(bias), free(y), free(loaded), free(want);
}

static void attention(int64_t tq, int64_t tk, int64_t heads, int64_t kv_heads, int64_t dim, int32_t causal,
                      int64_t window, double scale) {
    float *q = numbers((size_t)(tq * heads * dim), 10), *k = numbers((size_t)(tk * kv_heads * dim), 11);
    float *v = numbers((size_t)(tk * kv_heads * dim), 12), *out = numbers((size_t)(tq * heads * dim), 13);
    double *want = calloc((size_t)(tq * heads * dim), sizeof *want), *p = malloc((size_t)tk * sizeof *p);
    int64_t j, h, i, d;
    OK(attention_of(backend, q, k, v, tq, tk, heads, kv_heads, dim, causal, window, scale, out, 0));
    for (j = 0; j < tq; j++)
        for (h = 0; h < heads; h++) {
            int64_t from = 0, to = tk, at = h / (heads / kv_heads);
            double sum = 0, top = -INFINITY;
            if (causal) to = tk - tq + j + 1;
            if (window && to - window > 0) from = to - window;
            for (i = from; i < to; i++) {
                p[i] = 0;
                for (d = 0; d < dim; d++)
                    p[i] += (double)q[(j * heads + h) * dim + d] * k[(i * kv_heads + at) * dim + d];
                p[i] *= scale != 0 ? scale : 1 / sqrt((double)dim);
                if (p[i] > top) top = p[i];
            }
            for (i = from; i < to; i++) sum += p[i] = exp(p[i] - top);
            for (i = from; i < to; i++)
                for (d = 0; d < dim; d++)
                    want[(j * heads + h) * dim + d] += p[i] / sum * v[(i * kv_heads + at) * dim + d];
        }
    near(out, want, (size_t)(tq * heads * dim), 2e-5, "attention");
    free(q), free(k), free(v), free(out), free(want), free(p);
}

/* Operators by name: with an attribute, with a matrix, with indices, with two outputs. */
static void by_name(void) {
    float x[12], y[12], table[] = {0, 1, 10, 11, 20, 21}, row[4], top[2];
    int32_t ids[] = {2, 0}, at[2];
    double want[12];
    qtsa_operand in[2], out[2];
    qtsa_attr attr = qtsa_attr_int("axis", 0), k = qtsa_attr_int("k", 2);
    int i;
    fill(x, 12, 14);
    memset(in, 0, sizeof in);
    in[0].struct_size = sizeof in[0];
    memset(out, 0, sizeof out);
    out[0].struct_size = sizeof out[0];
    in[0].dtype = QTSA_DTYPE_F32;
    in[0].rank = 2;
    in[0].shape[0] = 3;
    in[0].shape[1] = 4;
    in[0].data = x;
    out[0] = in[0];
    out[0].data = y;
    OK(qtsa_op_run(backend, "softmax", in, 1, &attr, 1, out, 1, 0));
    for (i = 0; i < 12; i++) want[i] = exp(x[i]) / (exp(x[i % 4]) + exp(x[i % 4 + 4]) + exp(x[i % 4 + 8]));
    near(y, want, 12, 1e-5, "softmax");
    attr.i = 1; /* the same call but for an attribute */
    OK(qtsa_op_run(backend, "softmax", in, 1, &attr, 1, out, 1, 0));
    for (i = 0; i < 12; i++) {
        const float *r = x + i / 4 * 4;
        want[i] = exp(x[i]) / (exp(r[0]) + exp(r[1]) + exp(r[2]) + exp(r[3]));
    }
    near(y, want, 12, 1e-5, "softmax over the other axis");

    memset(in, 0, sizeof in);
    in[0].struct_size = sizeof in[0];
    in[0].matrix = matrix(table, 2, 3, 2, 0, 0);
    in[1].dtype = QTSA_DTYPE_I32;
    in[1].rank = 1;
    in[1].shape[0] = 2;
    in[1].data = ids;
    out[0].shape[0] = 2;
    out[0].shape[1] = 2;
    out[0].data = row;
    OK(qtsa_op_run(backend, "embedding", in, 2, NULL, 0, out, 1, 0));
    CHECK(row[0] == 20 && row[1] == 21 && row[2] == 0 && row[3] == 1);
    ids[1] = 3;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_op_run(backend, "embedding", in, 2, NULL, 0, out, 1, 0), "embedding",
            "element 1 is 3", "0 to 2");
    OK(qtsa_matrix_free(in[0].matrix));

    memset(in, 0, sizeof in);
    in[0].struct_size = sizeof in[0];
    memset(out, 0, sizeof out);
    out[0].struct_size = sizeof out[0];
    in[0].dtype = QTSA_DTYPE_F32;
    in[0].rank = 1;
    in[0].shape[0] = 6;
    in[0].data = table;
    out[0].dtype = QTSA_DTYPE_F32;
    out[0].rank = 1;
    out[0].shape[0] = 2;
    out[0].data = top;
    out[1] = out[0];
    out[1].dtype = QTSA_DTYPE_I32;
    out[1].data = at;
    OK(qtsa_op_run(backend, "top_k", in, 1, &k, 1, out, 2, QTSA_ON_CPU_IF_DECLINED));
    CHECK(top[0] == 21 && top[1] == 20 && at[0] == 5 && at[1] == 4);
}

/* NaN and infinity go where IEEE 754 sends them, whatever the weight's type. */
static void not_numbers(void) {
    static const qtsa_dtype dtypes[] = {QTSA_DTYPE_F32, QTSA_DTYPE_F16, QTSA_DTYPE_BF16, QTSA_DTYPE_Q8_0};
    enum { N = 64, ROWS = 4 };
    float x[ROWS][N], y[ROWS][2];
    uint16_t w16[2][N];
    float w32[2][N];
    unsigned char w8[2][N / 32][34];
    size_t d;
    int i, o, k;
    for (d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        qtsa_matrix_desc desc;
        qtsa_product job;
        SIZED(job);
        desc = qtsa_matrix_desc_init();
        for (o = 0; o < 2; o++) /* ones, and minus ones */
            for (k = 0; k < N; k++) {
                unsigned char *block = w8[o][k / 32];
                w32[o][k] = o ? -1.0f : 1.0f;
                w16[o][k] = (uint16_t)((dtypes[d] == QTSA_DTYPE_F16 ? 0x3c00 : 0x3f80) | (o ? 0x8000 : 0));
                block[0] = 0, block[1] = 0x3c; /* a scale of 1 */
                block[2 + k % 32] = (unsigned char)(o ? -1 : 1);
            }
        desc.dtype = dtypes[d];
        desc.rank = 2;
        desc.shape[0] = 2;
        desc.shape[1] = N;
        desc.data = dtypes[d] == QTSA_DTYPE_F32 ? (void *)w32 : dtypes[d] == QTSA_DTYPE_Q8_0 ? (void *)w8 : (void *)w16;
        desc.bytes = dtypes[d] == QTSA_DTYPE_F32 ? sizeof w32 : dtypes[d] == QTSA_DTYPE_Q8_0 ? sizeof w8 : sizeof w16;
        OK(qtsa_matrix_create(backend, &desc, &job.weight));
        job.y = &y[0][0];
        job.n_out = 2;
        for (i = 0; i < ROWS; i++)
            for (k = 0; k < N; k++) x[i][k] = 1;
        OK(qtsa_matmul(backend, &x[0][0], ROWS, N, &job, 1, 0));
        for (i = 0; i < ROWS; i++) CHECK(fabs(y[i][0] - N) < 1 && fabs(y[i][1] + N) < 1);
        x[1][5] = NAN;
        x[2][6] = INFINITY;
        x[3][63] = -INFINITY;
        OK(qtsa_matmul(backend, &x[0][0], ROWS, N, &job, 1, 0));
        CHECK(fabs(y[0][0] - N) < 1 && fabs(y[0][1] + N) < 1);
        CHECK(isnan(y[1][0]) && isnan(y[1][1]));
        CHECK(isinf(y[2][0]) && y[2][0] > 0 && isinf(y[2][1]) && y[2][1] < 0);
        CHECK(isinf(y[3][0]) && y[3][0] < 0 && isinf(y[3][1]) && y[3][1] > 0);
        for (k = 0; k < N; k++) x[1][k] = x[2][k] = x[3][k] = 1;
        x[1][0] = 1e6f; /* beyond f16 */
        OK(qtsa_matmul(backend, &x[0][0], ROWS, N, &job, 1, 0));
        CHECK(fabs(y[1][0] - (1e6 + N - 1)) < 1e6 * 0.01);
        OK(qtsa_matrix_free(job.weight));
    }
}

static void *many_shapes(void *seed) {
    int i;
    for (i = 0; i < 12; i++) {
        int n = (i * 7 + (int)(intptr_t)seed * 5) % 9 + 1;
        products(n, 8 * n, 5, 0);
        attention(n, n + 3, 4, 2, 8, 1, 0, 0);
        convolution(n, 4, 4, 3, 1, 3, QTSA_NORM_GROUP, 1);
    }
    return NULL;
}

int main(void) {
    static const int64_t borders[] = {1, 31, 32, 33, 255, 256, 257};
    enum { BORDERS = sizeof borders / sizeof *borders, THREADS = 8 };
    pthread_t threads[THREADS];
    qtsa_backend_options o;
    size_t need;
    char text[16384];
    int i, k;
    o = qtsa_backend_options_init();
    o.threads = 1;
    OK(qtsa_backend_create(&o, &backend));
    for (i = 0; i < BORDERS; i++) products(borders[i], borders[BORDERS - 1 - i], borders[(i + 3) % BORDERS], 0);
    products(1024, 32, 33, 0);
    products(3, 40, 5, 1);
    products(2, 33, 4, 3);

    for (k = 1; k <= 5; k++) convolution(9, 7, 4, k, 1, 6, QTSA_NORM_NONE, 0);
    for (k = 1; k <= 4; k++) convolution(8, 11, 8, k, 2, 5, QTSA_NORM_GROUP, 1);
    convolution(5, 6, 8, 3, 1, 4, QTSA_NORM_LAYER, 1);
    convolution(5, 6, 3, 3, 3, 4, QTSA_NORM_LAYER, 0);
    convolution(1, 1, 1, 3, 1, 1, QTSA_NORM_GROUP, 0);
    convolution(2, 3, 5, 7, 2, 2, QTSA_NORM_NONE, 1);

    attention(5, 5, 4, 4, 16, 0, 0, 0);
    attention(5, 9, 4, 2, 16, 1, 0, 0.5);
    attention(7, 33, 6, 1, 64, 1, 3, 0);
    attention(1, 257, 2, 1, 32, 1, 0, 0);

    by_name();
    not_numbers();

    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, many_shapes, (void *)(intptr_t)i) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);

    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_TEXT, 0, text, sizeof text, &need));
    printf("%s", text);
    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
