/*
 * Rotary position embedding: included once for each instruction set, inside a namespace
 * of its own, hence without an include guard.
 */

#include "vectors_body.h"

#include "turn_body.h"

static void angles_part(const rope_angles &a, int ith, int nth) {
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
                if (turns_within(angle[j])) continue;
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
