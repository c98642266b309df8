/*
 * Cosines and sines of angles in double precision: included behind vectors_body.h,
 * once for each instruction set, inside a namespace of its own.
 */

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
    const vec s =
        x + x * square * (-1.0f / 6 + square * (1.0f / 120 + square * (-1.0f / 5040 + square * (1.0f / 362880))));
    const vec c = 1.0f + square * (-0.5f + square * (1.0f / 24 + square * (-1.0f / 720 + square * (1.0f / 40320))));
    vec_long last;
    std::memcpy(&last, &shifted, sizeof last);
    const vec_int quarter = __builtin_convertvector(last & 3, vec_int);
    const vec_int odd = (quarter & 1) != 0;
    const vec from_s = odd ? c : s, from_c = odd ? s : c;
    *sine = (quarter & 2) != 0 ? -from_s : from_s;
    *cosine = ((quarter + 1) & 2) != 0 ? -from_c : from_c;
}

/* Whether turn() takes an angle; others, and what is no number, are for the library's functions. */
static inline bool turns_within(double angle) {
    constexpr double most = 1e6;
    return angle <= most && angle >= -most;
}
