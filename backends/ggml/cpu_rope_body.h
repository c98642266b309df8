/*
 * Rotary position embedding: included once for each instruction set, inside a namespace
 * of its own, hence without an include guard.
 */

#include "cpu_vectors_body.h"

typedef double vec_double __attribute__((vector_size(LANES * 8)));
typedef int64_t vec_long __attribute__((vector_size(LANES * 8)));

/*
 * The cosines and sines of angles of up to 10^6 quarter turns or so: whole quarters are
 * taken off in double precision (Cody and Waite, Software Manual for the Elementary
 * Functions, 1980), what is left, up to an eighth of a turn, goes into Taylor series.
 */
static inline void turn(const vec_double &angle, vec *cosine, vec *sine) {
    const vec_double shifted = angle * 0.63661977236758134308 + 6755399441055744.0;  // 1.5 * 2^52
    const vec_double quarters = shifted - 6755399441055744.0;
    // The first part of half pi has 33 bits: so many quarters of it are exact.
    const vec_double left = angle - quarters * 1.57079632673412561417e+00 - quarters * 6.07710050650619224932e-11;
    const vec x = __builtin_convertvector(left, vec), square = x * x;
    const vec s = x + x * square * (-1.0f / 6 + square * (1.0f / 120 + square * (-1.0f / 5040 + square * (1.0f / 362880))));
    const vec c = 1.0f + square * (-0.5f + square * (1.0f / 24 + square * (-1.0f / 720 + square * (1.0f / 40320))));
    vec_long last;
    std::memcpy(&last, &shifted, sizeof last);
    const vec_int quarter = __builtin_convertvector(last & 3, vec_int);
    const vec_int odd = (quarter & 1) != 0;
    const vec from_s = odd ? c : s, from_c = odd ? s : c;
    *sine = (quarter & 2) != 0 ? -from_s : from_s;
    *cosine = ((quarter + 1) & 2) != 0 ? -from_c : from_c;
}

static void angles_part(const rope_angles &a, int ith, int nth) {
    constexpr double most = 1e6;
    const part rows(a.t, ith, nth);
    for (int64_t t = rows.begin; t < rows.end; t++) {
        double position;
        if (a.wide) {
            int64_t p;
            std::memcpy(&p, a.positions + t * sizeof p, sizeof p);
            position = double(p);
        } else {
            int32_t p;
            std::memcpy(&p, a.positions + t * sizeof p, sizeof p);
            position = p;
        }
        const int64_t width = a.interleaved ? 2 * a.half : a.half;
        float *cosines = a.y + t * 2 * width, *sines = cosines + width;
        for (int64_t i = 0; i < a.half; i += LANES) {
            const int64_t n = least(LANES, a.half - i);
            const vec high = load_part(a.frequencies + i, n), low = load_part(a.frequencies + a.half + i, n);
            const vec_double angle =
                (__builtin_convertvector(high, vec_double) + __builtin_convertvector(low, vec_double)) * position;
            vec cosine, sine;
            turn(angle, &cosine, &sine);
            for (int64_t j = 0; j < n; j++) {
                if (angle[j] <= most && angle[j] >= -most) continue;
                cosine[j] = float(std::cos(double(angle[j])));
                sine[j] = float(std::sin(double(angle[j])));
            }
            if (!a.interleaved) {
                store_part(cosines + i, cosine, n);
                store_part(sines + i, sine, n);
                continue;
            }
            for (int64_t j = 0; j < n; j++) {
                float *c = cosines + 2 * (i + j), *s = sines + 2 * (i + j);
                c[0] = c[1] = cosine[j];
                s[0] = -sine[j], s[1] = sine[j];
            }
        }
    }
}

static void rotate_halves(const float *x, const float *cosines, const float *sines, int64_t half, float *y) {
    int64_t i = 0;
    for (; i + LANES <= half; i += LANES) {
        const vec a = load(x + i), b = load(x + half + i), c = load(cosines + i), s = load(sines + i);
        store(y + i, a * c - b * s);
        store(y + half + i, b * c + a * s);
    }
    for (; i < half; i++) {
        const float a = x[i], b = x[half + i];
        y[i] = a * cosines[i] - b * sines[i];
        y[half + i] = b * cosines[i] + a * sines[i];
    }
}

static void rotate_pairs(const float *x, const float *cosines, const float *sines, int64_t dims, float *y) {
    int64_t i = 0;
    for (; i + LANES <= dims; i += LANES) {
        const vec pairs = load(x + i);
        store(y + i, pairs * load(cosines + i) + swap_pairs(pairs) * load(sines + i));
    }
    for (; i < dims; i++) y[i] = x[i] * cosines[i] + x[i ^ 1] * sines[i];
}

static void rotate_part(const rope &r, int ith, int nth) {
    const part rows(r.t * r.heads, ith, nth);
    for (int64_t row = rows.begin; row < rows.end; row++) {
        const int64_t t = row / r.heads, head = row % r.heads;
        const float *x = reinterpret_cast<const float *>(r.x + t * r.x_row + head * r.x_head);
        const int64_t width = r.interleaved ? 2 * r.half : r.half;
        const float *cosines = r.angles + t * 2 * width, *sines = cosines + width;
        float *y = r.y + row * r.d;
        if (r.interleaved) {
            rotate_pairs(x, cosines, sines, width, y);
        } else {
            rotate_halves(x, cosines, sines, width, y);
        }
        std::memcpy(y + 2 * r.half, x + 2 * r.half, (r.d - 2 * r.half) * sizeof(float));
    }
}
