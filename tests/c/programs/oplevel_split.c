/*
 * Matrices whose levels and scales lie apart, as other systems keep them: int8 with an
 * f32 scale for each 32, 4 bits with a scale for each block, MLX's affine 4 bits in
 * groups of 32, 64 and 128. The products are held to sums in double over scale * level +
 * offset, and what storing them has changed is said.
 */
#include <math.h>

#include "check.h"

enum { ROWS = 5, N_IN = 384, N_OUT = 7 };

static qtsa_backend backend;
static uint8_t levels[N_OUT * N_IN];
static float scales[N_OUT * N_IN / 32], offsets[N_OUT * N_IN / 32];
static uint16_t half_scales[N_OUT * N_IN / 32], half_offsets[N_OUT * N_IN / 32];
static double values[N_OUT][N_IN];
static float x[ROWS][N_IN];

static uint32_t seed = 1;
static uint32_t next(void) { return seed = seed * 1664525u + 1013904223u; }

/* f16 of a number that it has: 1 to 2 in 64ths, times a power of 2. */
static uint16_t half(float v) {
    int e;
    float m = frexpf(fabsf(v), &e) * 2 - 1;
    return (uint16_t)((v < 0 ? 0x8000 : 0) | (e - 1 + 15) << 10 | (int)(m * 1024));
}

/* Fills levels, scales and values for a description; from_f16: scales that f16 has. */
static void fill(qtsa_split_matrix *m, int with_offsets, int from_f16) {
    int64_t o, k, blocks = N_IN / m->block;
    m->n_out = N_OUT;
    m->n_in = N_IN;
    m->levels = levels;
    memset(levels, 0, sizeof levels);
    for (o = 0; o < N_OUT; o++)
        for (k = 0; k < N_IN; k++) {
            int64_t b = o * blocks + k / m->block;
            int32_t level = (int32_t)(next() >> 20) & ((1 << m->bits) - 1);
            if (k % m->block == 0) {
                scales[b] = ldexpf(1 + (float)(next() >> 26) / 64, -7);
                offsets[b] = with_offsets ? -8 * scales[b] : 0;
                if (!from_f16) scales[b] *= 1.0001f;
                half_scales[b] = half(scales[b]);
                half_offsets[b] = half(offsets[b]);
            }
            if (m->bits == 8) {
                levels[o * N_IN + k] = (uint8_t)level;
            } else if (m->nibbles == QTSA_NIBBLES_HALVES) {
                levels[(o * N_IN + k / 32 * 32) / 2 + k % 16] |= (uint8_t)(level << (k % 32 < 16 ? 0 : 4));
            } else {
                int high = k % 2 == (m->nibbles == QTSA_NIBBLES_LOW_FIRST);
                levels[(o * N_IN + k) / 2] |= (uint8_t)(level << (high ? 4 : 0));
            }
            if (m->is_signed && level >= 1 << (m->bits - 1)) level -= 1 << m->bits;
            values[o][k] = (double)scales[b] * (level - m->zero) + offsets[b];
        }
    m->scales = m->scale_dtype == QTSA_DTYPE_F32 ? (const void *)scales : half_scales;
    if (with_offsets) m->offsets = m->scale_dtype == QTSA_DTYPE_F32 ? (const void *)offsets : half_offsets;
}

/* Makes it, and multiplies with it. tolerance: of the product, to its largest value. */
static qtsa_split_report product(const qtsa_split_matrix *m, qtsa_dtype dtype, double tolerance) {
    qtsa_matrix_desc desc;
    qtsa_split_report report;
    qtsa_product job;
    float y[ROWS][N_OUT];
    uint64_t bytes;
    double top = 1, worst = 0;
    int i, o, k;
    memset(&report, 0xff, sizeof report);
    desc = qtsa_matrix_desc_init();
    desc.split = m;
    desc.dtype = dtype;
    desc.report = &report;
    SIZED(job);
    OK(qtsa_matrix_create(backend, &desc, &job.weight));
    OK(qtsa_matrix_bytes(job.weight, &bytes));
    CHECK(bytes == report.bytes);
    job.y = &y[0][0];
    job.n_out = N_OUT;
    OK(qtsa_matmul(backend, &x[0][0], ROWS, N_IN, &job, 1, 0));
    for (i = 0; i < ROWS; i++)
        for (o = 0; o < N_OUT; o++) {
            double want = 0;
            for (k = 0; k < N_IN; k++) want += values[o][k] * x[i][k];
            if (fabs(want) > top) top = fabs(want);
            if (!(fabs(y[i][o] - want) <= worst)) worst = fabs(y[i][o] - want);
        }
    if (!(worst <= tolerance * top)) fprintf(stderr, "off by %g of %g\n", worst, top);
    CHECK(worst <= tolerance * top);
    OK(qtsa_matrix_free(job.weight));
    return report;
}

int main(void) {
    static const int64_t groups[] = {32, 64, 128};
    qtsa_split_matrix m;
    qtsa_split_report report;
    int i;
    OK(qtsa_backend_create(NULL, &backend));
    for (i = 0; i < ROWS * N_IN; i++) (&x[0][0])[i] = (float)(next() >> 8) / 8388608.0f - 1.0f;

    /* int8 with an f32 scale for each 32: exact where f16 has the scales. */
    SIZED(m);
    m.bits = 8;
    m.is_signed = 1;
    m.block = 32;
    m.scale_dtype = QTSA_DTYPE_F32;
    fill(&m, 0, 1);
    report = product(&m, 0, 2e-2);
    CHECK(report.dtype == QTSA_DTYPE_Q8_0 && report.exact == 1 && report.bytes == N_OUT * N_IN / 32 * 34);
    CHECK(report.max_absolute_error == 0 && report.max_relative_error == 0);
    fill(&m, 0, 0);
    report = product(&m, 0, 2e-2);
    CHECK(report.dtype == QTSA_DTYPE_Q8_0 && report.exact == 0);
    CHECK(report.max_relative_error > 0 && report.max_relative_error <= 1.0 / 2048);
    CHECK(report.max_absolute_error > 0 && report.max_absolute_error <= 128 * ldexp(1, -6) / 2048);
    report = product(&m, QTSA_DTYPE_F32, 1e-5); /* without loss where that is wanted */
    CHECK(report.dtype == QTSA_DTYPE_F32 && report.exact == 1);

    /* 4 bits, signed in two's complement or around 8, with a scale for each block. */
    for (i = 0; i < 3; i++) {
        SIZED(m);
        m.bits = 4;
        m.nibbles = i;
        m.is_signed = i == 0;
        m.zero = i == 0 ? 0 : 8;
        m.block = groups[i];
        m.scale_dtype = QTSA_DTYPE_F32;
        fill(&m, 0, 1);
        report = product(&m, 0, 2e-2);
        CHECK(report.dtype == QTSA_DTYPE_Q4_0 && report.exact == 1 && report.bytes == N_OUT * N_IN / 32 * 18);
    }

    /* MLX's affine 4 bits. */
    for (i = 0; i < 3; i++) {
        SIZED(m);
        m.bits = 4;
        m.block = groups[i];
        m.scale_dtype = QTSA_DTYPE_F16;
        fill(&m, 1, 1);
        report = product(&m, 0, 2e-2);
        CHECK(report.dtype == QTSA_DTYPE_Q4_1 && report.exact == 1 && report.bytes == N_OUT * N_IN / 32 * 20);
        report = product(&m, QTSA_DTYPE_F16, 2e-3);
        CHECK(report.dtype == QTSA_DTYPE_F16);
    }

    /* A block that is no multiple of 32: new levels, and by how much they are off. */
    SIZED(m);
    m.bits = 4;
    m.block = 48;
    m.zero = 8;
    m.scale_dtype = QTSA_DTYPE_F32;
    fill(&m, 0, 1);
    report = product(&m, 0, 2e-2);
    CHECK(report.dtype == QTSA_DTYPE_Q8_0 && report.exact == 0);
    CHECK(report.max_absolute_error > 0 && report.max_absolute_error < 1e-2);

    OK(qtsa_backend_free(backend));
    printf("ok\n");
    return 0;
}
