/*
 * Snake: included once for each instruction set, inside a namespace of its own, hence
 * without an include guard.
 *
 * A product of two floats is exact in double: with one that is rounded to f32, a large
 * angle would be off by some of a turn.
 */

#include "vectors_body.h"

#include "turn_body.h"

static inline vec snake_of(vec x, double alpha, vec beta, int64_t n) {
    const vec_double angle = __builtin_convertvector(x, vec_double) * alpha;
    vec cosine, sine;
    turn(angle, &cosine, &sine);
    for (int64_t j = 0; j < n; j++) {
        if (!turns_within(angle[j])) sine[j] = float(std::sin(double(angle[j])));
    }
    return x + sine * sine / beta;
}

static void snake_part(const snake &s, int ith, int nth) {
    const part mine(s.rows * s.n, ith, nth);
    // Parts of rows, so that one long row is shared, too.
    for (int64_t at = mine.begin; at < mine.end;) {
        const int64_t channel = at / s.n % s.channels, end = least(mine.end, (at / s.n + 1) * s.n);
        const double alpha = s.alpha[channel];
        const vec beta = all(s.beta[channel]);
        for (; at + LANES <= end; at += LANES) store(s.y + at, snake_of(load(s.x + at), alpha, beta, LANES));
        if (at == end) continue;
        store_part(s.y + at, snake_of(load_part(s.x + at, end - at), alpha, beta, end - at), end - at);
        at = end;
    }
}
