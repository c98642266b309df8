/*
 * Sums in double, and how results are found that need them: what overflows where its
 * neighbours do not, or what a processor makes of denormal numbers, leaves a result that
 * is not finite. Included behind read_units, whose vectors and types it uses.
 */

typedef int32_t integers __attribute__((vector_size(LANES * 4)));
typedef float half_vec __attribute__((vector_size(LANES * 2)));
typedef double doubles __attribute__((vector_size(LANES * 4)));

enum {
    EXPANDED = 512,  // elements of a row at once: whole blocks of any type
    BITS_OF_INFINITY = 0x7f800000,
};

static inline integers larger(integers a, integers b) { return a > b ? a : b; }

/* The largest magnitude of n floats, as its bits: those of infinity and of NaN are the largest. */
static int32_t largest_bits(const float *p, int64_t n) {
    enum { SIDE_BY_SIDE = 4 };
    const integers magnitude = integers{} + 0x7fffffff;
    integers most[SIDE_BY_SIDE] = {};
    int64_t i = 0;
    for (; i + SIDE_BY_SIDE * LANES <= n; i += SIDE_BY_SIDE * LANES) {
#pragma GCC unroll 4
        for (int v = 0; v < SIDE_BY_SIDE; v++) most[v] = larger(most[v], integers(load(p + i + v * LANES)) & magnitude);
    }
    for (; i + LANES <= n; i += LANES) most[0] = larger(most[0], integers(load(p + i)) & magnitude);
    const integers all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    int32_t top = 0;
    for (int j = 0; j < LANES; j++) top = top > all[j] ? top : all[j];
    for (; i < n; i++) {
        int32_t bits;
        std::memcpy(&bits, p + i, sizeof bits);
        bits &= 0x7fffffff;
        top = top > bits ? top : bits;
    }
    return top;
}

static double dot(const float *a, const float *b, int64_t n) {
    doubles sum[2] = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            half_vec x, y;
            std::memcpy(&x, a + i + v * (LANES / 2), sizeof x);
            std::memcpy(&y, b + i + v * (LANES / 2), sizeof y);
            sum[v] += __builtin_convertvector(x, doubles) * __builtin_convertvector(y, doubles);
        }
    }
    sum[0] += sum[1];
    double all = 0;
    for (int j = 0; j < LANES / 2; j++) all += sum[0][j];
    for (; i < n; i++) all += double(a[i]) * double(b[i]);
    return all;
}

/* Whether one of n results is no finite number. */
static inline bool has_other_than_finite(const float *y, int64_t n) { return largest_bits(y, n) >= BITS_OF_INFINITY; }

/* The product of row m of a and column n of b, from their elements as they are. */
template <class A, class B>
static double exact_product(const A &a, int64_t m, const B &b, int64_t n, int64_t k) {
    float x[EXPANDED + LANES], w[EXPANDED + LANES];
    double sum = 0;
    for (int64_t k0 = 0; k0 < k; k0 += EXPANDED) {
        const int64_t count = least(EXPANDED, k - k0);
        a.template pack_row<as_f32>(m, k0, count, x);
        b.template pack_row<as_f32>(n, k0, count, w);
        sum += dot(x, w, count);
    }
    return sum;
}
