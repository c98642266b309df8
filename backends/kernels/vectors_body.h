/*
 * Vectors of LANES floats and what is computed with them: included once for each
 * instruction set, inside a namespace of its own, hence without an include guard. No
 * templates of the standard library here: a copy of one that is compiled for this
 * instruction set could serve the whole program.
 */

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t vec_int __attribute__((vector_size(LANES * 4)));
typedef uint16_t vec_short __attribute__((vector_size(LANES * 2)));

static inline vec load(const void *p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
static inline void store(void *p, vec v) { std::memcpy(p, &v, sizeof v); }
static inline vec all(float x) { return x - vec{}; }  // -0 stays: -0 + 0 would be 0
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ceiling(int64_t n, int64_t by) { return (n + by - 1) / by; }
static inline int64_t whole(int64_t n) { return ceiling(n, LANES) * LANES; }

/* n of the LANES floats at p, zeros behind them; and the way back. */
static inline vec load_part(const void *p, int64_t n) {
    vec v = {};
    std::memcpy(&v, p, n * sizeof(float));
    return v;
}
static inline vec load_part_of(float x, int64_t n) {
    float lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = i < n ? x : 0;
    return load(lanes);
}
static inline void store_part(void *p, vec v, int64_t n) { std::memcpy(p, &v, n * sizeof(float)); }

/* The sum of all lanes. */
static inline float sum(vec v) {
#if defined(KERNELS_X86) && LANES >= 8
#if LANES == 16
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(__m512(v)),
                                      _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(__m512(v)), 1)));
#else
    const __m256 half = __m256(v);
#endif
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    float lanes[LANES];
    store(lanes, v);
    for (int n = LANES / 2; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) lanes[i] += lanes[i + n];
    }
    return lanes[0];
#endif
}

#if defined(KERNELS_X86)
/* Each pair of lanes the other way round. */
static inline vec swap_pairs(vec v) {
#if LANES == 16
    return vec(_mm512_permute_ps(__m512(v), 0xb1));
#elif LANES == 8
    return vec(_mm256_permute_ps(__m256(v), 0xb1));
#else
    return vec(_mm_shuffle_ps(__m128(v), __m128(v), 0xb1));
#endif
}
#else
static inline vec swap_pairs(vec v) {
    vec y = v;
    for (int i = 0; i < LANES; i++) y[i] = v[i ^ 1];
    return y;
}
#endif

/* The sums of all lanes of four vectors. */
static inline void sum_each(const vec *v, float *sums) {
#if defined(KERNELS_X86) && LANES >= 8
    __m256 half[4];
    for (int i = 0; i < 4; i++) {
#if LANES == 16
        half[i] = _mm256_add_ps(_mm512_castps512_ps256(__m512(v[i])),
                                _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(__m512(v[i])), 1)));
#else
        half[i] = __m256(v[i]);
#endif
    }
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
#else
    for (int i = 0; i < 4; i++) sums[i] = sum(v[i]);
#endif
}

/* The largest of all lanes; NaN is passed over. */
static inline float largest(vec v) {
    float lanes[LANES];
    store(lanes, v);
    for (int n = LANES / 2; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) lanes[i] = lanes[i + n] > lanes[i] ? lanes[i + n] : lanes[i];
    }
    return lanes[0];
}

/* e^x as exponential() of lanes.h has it, but 0 where that is below e^-87. */
static inline vec exponential(vec x) {
    const vec cut = x > 88.0f ? all(88.0f) : x;
    const vec shifted = (cut < -87.0f ? all(-87.0f) : cut) * 1.44269504f + 12582912.0f;  // 1.5 * 2^23
    const vec n = shifted - 12582912.0f;
    const vec r = cut - n * 0.693359375f - n * -2.12194440e-4f;
    const vec series =
        1.0f + r * (1.0f + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
    vec_int bits, power;
    std::memcpy(&bits, &series, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += power << 23;
    vec y;
    std::memcpy(&y, &bits, sizeof y);
    y = x < -87.0f ? vec{} : y;
    return x != x ? x : y;
}

/* Elements of a dtype as floats: LANES of them, or fewer and zeros. */
struct of_f32 {
    enum { BYTES = 4 };
    static inline vec read(const char *p) { return load(p); }
    static inline vec read_part(const char *p, int64_t n) { return load_part(p, n); }
};

struct of_bf16 {
    enum { BYTES = 2 };
    static inline vec read(const char *p) {
        vec_short halves;
        std::memcpy(&halves, p, sizeof halves);
        const vec_int bits = __builtin_convertvector(halves, vec_int) << 16;
        vec y;
        std::memcpy(&y, &bits, sizeof y);
        return y;
    }
    static inline vec read_part(const char *p, int64_t n) {
        char some[LANES * 2] = {};
        std::memcpy(some, p, n * 2);
        return read(some);
    }
};

struct of_f16 {
    enum { BYTES = 2 };
    static inline vec read(const char *p) {
#if defined(KERNELS_X86) && LANES == 16
        return vec(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))));
#elif defined(KERNELS_X86) && LANES == 8
        return vec(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
#elif defined(__aarch64__)
        typedef __fp16 vec_half __attribute__((vector_size(LANES * 2)));
        vec_half halves;
        std::memcpy(&halves, p, sizeof halves);
        return __builtin_convertvector(halves, vec);
#else
        vec_short halves;
        std::memcpy(&halves, p, sizeof halves);
        const vec_int wide = __builtin_convertvector(halves, vec_int);
        // Exponent and mantissa moved into a float's place are 2^-112 times the number;
        // infinities and NaN, whose exponent is the largest, take f32's.
        const vec_int moved = (wide & 0x7fff) << 13;
        const vec_int top = (wide & 0x7c00) == 0x7c00 ? vec_int{} + 0x7f800000 : vec_int{};
        vec size;
        std::memcpy(&size, &moved, sizeof size);
        size *= 5.192296858534828e33f;  // 2^112
        vec_int bits;
        std::memcpy(&bits, &size, sizeof bits);
        bits |= top | (wide & 0x8000) << 16;
        vec y;
        std::memcpy(&y, &bits, sizeof y);
        return y;
#endif
    }
    static inline vec read_part(const char *p, int64_t n) {
        char some[LANES * 2] = {};
        std::memcpy(some, p, n * 2);
        return read(some);
    }
};
