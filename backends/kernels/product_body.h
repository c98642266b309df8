/*
 * Dense products with many rows, in vectors of LANES floats: included once for each
 * instruction set (product.cpp), inside a namespace of its own, hence without an
 * include guard. No templates of the standard library here: a copy of one that is
 * compiled for this instruction set could serve the whole program.
 *
 * y[m][n] = sum over k of a[m][k] b[k][n], blocked as in Goto and van de Geijn, Anatomy
 * of High-Performance Matrix Multiplication (2008). For a piece of k the rows of a
 * block are copied side by side; then b is laid out a panel of COLUMNS columns at a
 * time, k by k, and multiplied with ROWS rows at a time, whose sums stay in registers.
 * Where a and b come from is the packers' affair: a weight is expanded, an image's
 * windows are gathered as they are packed, so neither exists whole.
 *
 * A unit is 4 bytes: a float, or where factors are rounded to bf16 a pair of them.
 */

typedef float vec __attribute__((vector_size(LANES * 4)));

static inline vec load(const void *p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
static inline void store(void *p, vec v) { std::memcpy(p, &v, sizeof v); }
/* Of floats[at], which may lie beyond the end, where no pointer may point. */
static inline void prefetch(const float *floats, int64_t at) {
    __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(floats) + at * sizeof(float)), 1);
}
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ceiling(int64_t n, int64_t by) { return (n + by - 1) / by; }

enum {
    ROWS = LANES == 16 ? 8 : 6,     // so many rows by
    VECTORS = LANES == 16 ? 3 : 2,  // so many vectors of sums fill the registers
    COLUMNS = VECTORS * LANES,
    DEPTH = 1280,             // units of k in a piece, at most
    PAD = 16,                 // units behind a row: rows of 4096 bytes would share their places in the cache
    BLOCK_ROWS = 512,         // of a that are multiplied with a panel, at most
    STAGE = 256,              // units of a weight's rows that are expanded at once
    STAGE_ROW = STAGE + PAD,  // and where the next row begins
};

/* How units of a and b are multiplied, and how many elements of k one holds. */
struct as_f32 {
    enum { PER_UNIT = 1 };
    static inline vec add_product(vec sum, const float *a, vec b) { return sum + *a * b; }
};

#if defined(WITH_BF16)
struct as_bf16 {
    enum { PER_UNIT = 2 };
    static inline vec add_product(vec sum, const float *a, vec b) {
        return vec(_mm512_dpbf16_ps(__m512(sum), (__m512bh)_mm512_set1_ps(*a), (__m512bh)__m512(b)));
    }
};
#endif

/* ------------------------------------------------------------- Multiplying -- */

/*
 * M rows by V vectors: to = from + a b over so many units. from is null for zeros;
 * n columns are read and written.
 */
template <class How, int M, int V>
static void multiply_tile(const float *a, int64_t a_row, const float *b, int64_t depth, const float *from,
                          int64_t from_row, float *to, int64_t to_row, int64_t n) {
    vec sum[M][V] = {};
#pragma GCC unroll 8
    for (int i = 0; i < M; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) prefetch(to, i * to_row + v * LANES);
    }
    for (int64_t k = 0; k < depth; k++) {
        vec column[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) column[v] = load(b + k * COLUMNS + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) sum[i][v] = How::add_product(sum[i][v], a + i * a_row + k, column[v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < M; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) {
            float *y = to + i * to_row + v * LANES;
            const float *x = from != nullptr ? from + i * from_row + v * LANES : nullptr;
            const int64_t left = n - v * LANES;
            if (left >= LANES) {
                store(y, x != nullptr ? load(x) + sum[i][v] : sum[i][v]);
                continue;
            }
            float part[LANES];
            store(part, sum[i][v]);
            for (int64_t j = 0; j < left; j++) y[j] = (x != nullptr ? x[j] : 0) + part[j];
        }
    }
}

using tile_function = void (*)(const float *, int64_t, const float *, int64_t, const float *, int64_t, float *, int64_t,
                               int64_t);

struct tile_functions {
    tile_function of[VECTORS][ROWS];
};

template <class How, int V, int... M>
static constexpr void fill_in(tile_functions &f, std::integer_sequence<int, M...>) {
    ((f.of[V][M] = multiply_tile<How, M + 1, V + 1>), ...);
}
template <class How, int... V>
static constexpr tile_functions make_tiles(std::integer_sequence<int, V...>) {
    tile_functions f = {};
    (fill_in<How, V>(f, std::make_integer_sequence<int, ROWS>()), ...);
    return f;
}
template <class How>
static constexpr tile_functions tiles = make_tiles<How>(std::make_integer_sequence<int, VECTORS>());

/* ------------------------------------------------------- Reading into units -- */

#if defined(WITH_BF16)
/* n floats as pairs of bf16; what is missing from the last 32 becomes zeros. */
static inline void narrow(const float *from, int64_t n, float *to) {
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
        std::memcpy(to + i / 2, &pairs, sizeof pairs);
    }
    if (i == n) return;
    const int64_t left = n - i;
    const auto low = __mmask16(left >= 16 ? 0xffff : (1 << left) - 1);
    const auto high = __mmask16(left > 16 ? (1 << (left - 16)) - 1 : 0);
    const __m512bh pairs =
        _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, from + i + 16), _mm512_maskz_loadu_ps(low, from + i));
    std::memcpy(to + i / 2, &pairs, sizeof pairs);
}

/* Integers times a scale of f16 as pairs of bf16. */
static inline void scale(const char *scale, __m512i first, __m512i second, float *to) {
    uint16_t half;
    std::memcpy(&half, scale, sizeof half);
    const __m512 d = _mm512_set1_ps(_cvtsh_ss(half));
    const __m512bh pairs =
        _mm512_cvtne2ps_pbh(_mm512_mul_ps(d, _mm512_cvtepi32_ps(second)), _mm512_mul_ps(d, _mm512_cvtepi32_ps(first)));
    std::memcpy(to, &pairs, sizeof pairs);
}

static inline __m128i load_bytes(const char *p) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)); }

/* Blocks of 32: a scale and 32 bytes. */
static void expand_q8_0(const char *from, int64_t n, float *to) {
    for (int64_t i = 0; i < n; i += 32, from += 34) {
        scale(from, _mm512_cvtepi8_epi32(load_bytes(from + 2)), _mm512_cvtepi8_epi32(load_bytes(from + 18)),
              to + i / 2);
    }
}

/* Blocks of 32: a scale and 16 bytes, their lower halves first, each 8 more than meant. */
static void expand_q4_0(const char *from, int64_t n, float *to) {
    const __m512i eight = _mm512_set1_epi32(8);
    for (int64_t i = 0; i < n; i += 32, from += 18) {
        const __m512i both = _mm512_cvtepu8_epi32(load_bytes(from + 2));
        scale(from, _mm512_sub_epi32(_mm512_and_si512(both, _mm512_set1_epi32(15)), eight),
              _mm512_sub_epi32(_mm512_srli_epi32(both, 4), eight), to + i / 2);
    }
}
#endif

/* Floats that the type's own function expands, a few at a time. */
template <class Use>
static void expand_with(const element_type &type, const char *from, int64_t n, Use &&use) {
    float some[2 * STAGE];
    for (int64_t i = 0; i < n; i += 2 * STAGE) {
        const int64_t count = least(2 * STAGE, n - i);
        type.expand(from + i / type.block * type.block_bytes, some, count);
        use(some, i, count);
    }
}

/*
 * Elements [k0, k0 + n) of a row as units, with zeros where the last unit is not full;
 * k0 is the first of a block of the type. Up to LANES units are written behind them.
 */
template <class How>
static void read_units(const element_type &type, const char *row, int64_t k0, int64_t n, float *to) {
    const char *from = row + k0 / type.block * type.block_bytes;
#if defined(WITH_BF16)
    if constexpr (How::PER_UNIT == 2) {
        switch (type.is) {
            case F32:
                return narrow(reinterpret_cast<const float *>(from), n, to);
            case BF16:
                if (n % 2 != 0) to[n / 2] = 0;
                std::memcpy(to, from, n * 2);
                return;
            case Q8_0:
                return expand_q8_0(from, n, to);
            case Q4_0:
                return expand_q4_0(from, n, to);
            default:
                return expand_with(type, from, n, [&](const float *some, int64_t i, int64_t count) {
                    narrow(some, count, to + i / 2);
                });
        }
    }
#endif
    switch (type.is) {
        case F32:
            std::memcpy(to, from, n * sizeof(float));
            return;
#if LANES > 4
        case F16: {
            int64_t i = 0;
            for (; i + LANES <= n; i += LANES) {
#if LANES == 16
                _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + 2 * i))));
#else
                _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 2 * i))));
#endif
            }
            type.expand(from + 2 * i, to + i, n - i);
            return;
        }
#endif
        default:
            type.expand(from, to, n);
    }
}

#include "exact_body.h"

/* ----------------------------------------------------------------- Packing -- */

template <int S, int... I>
static inline vec take_low(vec a, vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, ((I & S) == 0 ? I : LANES + I - S)...);
}
template <int S, int... I>
static inline vec take_high(vec a, vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, ((I & S) == 0 ? I + S : LANES + I)...);
}

/* Transposes LANES vectors: exchanges the off-diagonal quarters, then within each quarter. */
template <int S = LANES / 2>
static inline void transpose(vec (&r)[LANES]) {
    constexpr auto lanes = std::make_integer_sequence<int, LANES>();
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        if ((i & S) != 0) continue;
        const vec a = r[i], b = r[i + S];
        r[i] = take_low<S>(a, b, lanes);
        r[i + S] = take_high<S>(a, b, lanes);
    }
    if constexpr (S > 1) transpose<S / 2>(r);
}

/* Elements that are units as they lie. */
struct whole_units {
    enum { BYTES = 4 };
    static inline vec some(const char *p) { return load(p); }
    static inline float one(const char *p) {
        float v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
};

#if LANES > 4
/* Elements of f16, which become units as they are read. */
struct half_units {
    enum { BYTES = 2 };
#if LANES == 16
    static inline vec some(const char *p) { return vec(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p))); }
#else
    static inline vec some(const char *p) { return vec(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p))); }
#endif
    static inline float one(const char *p) {
        uint16_t half;
        std::memcpy(&half, p, sizeof half);
        return _cvtsh_ss(half);
    }
};
#endif

/* LANES rows of units become columns of a panel. */
template <class Units>
static void transpose_rows(const char *from, size_t row_bytes, int64_t depth, float *panel) {
    int64_t k = 0;
    for (; k + LANES <= depth; k += LANES) {
        vec r[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) r[i] = Units::some(from + i * row_bytes + k * Units::BYTES);
        transpose(r);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) store(panel + (k + i) * COLUMNS, r[i]);
    }
    for (; k < depth; k++) {
        for (int i = 0; i < LANES; i++) panel[k * COLUMNS + i] = Units::one(from + i * row_bytes + k * Units::BYTES);
    }
}

/* Rows of elements side by side, of any type: as rows of a, or as columns of b. */
struct element_rows {
    const element_type &type;
    const char *data;
    size_t row_bytes;

    template <class How>
    void pack_row(int64_t m, int64_t k0, int64_t n, float *to) const {
        read_units<How>(type, data + m * row_bytes, k0, n, to);
    }

    /* Columns [n0, n0 + count) of b over [k0, k0 + n). */
    template <class How>
    void pack_panel(int64_t n0, int64_t count, int64_t k0, int64_t n, float *panel, float *stage) const {
        enum { AT_ONCE = STAGE * How::PER_UNIT };
        for (int64_t first = 0; first < count; first += LANES) {
            const int64_t rows = least(LANES, count - first);
            const char *from = data + (n0 + first) * row_bytes + k0 / type.block * type.block_bytes;
            if (rows == LANES && pack_directly<How>(from, n, panel + first)) continue;
            if (rows < LANES) std::memset(stage, 0, LANES * STAGE_ROW * sizeof(float));
            for (int64_t k = 0; k < n; k += AT_ONCE) {
                const int64_t some = least(AT_ONCE, n - k);
                for (int64_t r = 0; r < rows; r++) {
                    read_units<How>(type, data + (n0 + first + r) * row_bytes, k0 + k, some, stage + r * STAGE_ROW);
                }
                transpose_rows<whole_units>(reinterpret_cast<const char *>(stage), STAGE_ROW * sizeof(float),
                                            ceiling(some, How::PER_UNIT), panel + k / How::PER_UNIT * COLUMNS + first);
            }
        }
    }

    /* LANES columns out of the rows themselves, where these need no expanding; says whether it did. */
    template <class How>
    bool pack_directly(const char *from, int64_t n, float *panel) const {
        if (How::PER_UNIT == 1 && type.is == F32) {
            transpose_rows<whole_units>(from, row_bytes, n, panel);
            return true;
        }
#if LANES > 4
        if (How::PER_UNIT == 1 && type.is == F16) {
            transpose_rows<half_units>(from, row_bytes, n, panel);
            return true;
        }
#endif
        if (How::PER_UNIT == 2 && type.is == BF16 && n % 2 == 0) {
            transpose_rows<whole_units>(from, row_bytes, n / 2, panel);
            return true;
        }
        return false;
    }
};

/* -------------------------------------------------------------- The blocks -- */

/* What is there before the first product is added: numbers by column, by row, or zeros. */
struct beginning {
    const float *by_column, *by_row;
};

/* How the k of a product is cut: pieces of about the same size, of whole blocks of any type. */
template <class How>
struct cut {
    int64_t piece, units;

    explicit cut(int64_t k) {
        constexpr int64_t grain = 256, most = DEPTH * How::PER_UNIT;
        const int64_t pieces = (k + most - 1) / most;
        piece = pieces == 1 ? k : ((k + pieces - 1) / pieces + grain - 1) / grain * grain;
        units = (piece + How::PER_UNIT - 1) / How::PER_UNIT;
    }
};

/* A thread's memory: a panel, rows on their way to it, and a block of a. */
struct packing {
    float *panel, *stage, *block;
    int64_t a_row, block_rows;

    packing(char *memory, int64_t bytes, int64_t units)
        : panel(reinterpret_cast<float *>(memory)),
          stage(panel + units * COLUMNS),
          block(stage + LANES * STAGE_ROW),
          a_row(units + PAD),
          block_rows((bytes / int64_t(sizeof(float)) - units * COLUMNS - LANES * STAGE_ROW) / a_row) {}

    static int64_t bytes(int64_t units, int64_t rows) {
        const int64_t floats = units * COLUMNS + LANES * STAGE_ROW + rows * (units + PAD);
        return (floats * int64_t(sizeof(float)) + 63) / 64 * 64;
    }
};

/*
 * A sum in f32 is NaN where a part of it is beyond f32 and infinity follows; rounding to
 * bf16 makes the largest numbers infinite, and the instruction for it takes denormal ones
 * for zero, of which infinity makes NaN. Whatever is not finite is summed again; f32
 * weights, of which the same is said as of f32 sums, are left alone.
 */
template <class A, class B>
static void mend_block(const A &a, const B &b, part rows, part columns, int64_t k, const float *bias, float *y,
                       int64_t y_row) {
    if (b.type.is == F32) return;
    for (int64_t m = rows.begin; m < rows.end; m++) {
        float *to = y + m * y_row;
        if (!has_other_than_finite(to + columns.begin, columns.end - columns.begin)) continue;
        for (int64_t n = columns.begin; n < columns.end; n++) {
            if (!has_other_than_finite(to + n, 1)) continue;
            to[n] = float(exact_product(a, m, b, n, k) + (bias != nullptr ? bias[n] : 0));
        }
    }
}

/* y[m][n] for m of rows and n of columns; each row begins y_row floats after the one before. */
template <class How, class A, class B>
static void multiply_block(const A &a, const B &b, part rows, part columns, int64_t k, const beginning &start, float *y,
                           int64_t y_row, const packing &p) {
    const int64_t piece = cut<How>(k).piece;
    const int64_t blocks = (rows.end - rows.begin + p.block_rows - 1) / p.block_rows;
    for (int64_t k0 = 0; k0 < k; k0 += piece) {
        const int64_t kn = least(piece, k - k0), depth = (kn + How::PER_UNIT - 1) / How::PER_UNIT;
        for (int64_t at = 0; at < blocks; at++) {
            const part of_block(rows.end - rows.begin, int(at), int(blocks));
            const int64_t m0 = rows.begin + of_block.begin, mn = of_block.end - of_block.begin;
            for (int64_t i = 0; i < mn; i++) a.template pack_row<How>(m0 + i, k0, kn, p.block + i * p.a_row);
            for (int64_t n0 = columns.begin; n0 < columns.end; n0 += COLUMNS) {
                const int64_t nn = least(COLUMNS, columns.end - n0);
                b.template pack_panel<How>(n0, nn, k0, kn, p.panel, p.stage);
                const tile_function *tile = tiles<How>.of[(nn + LANES - 1) / LANES - 1];
                for (int64_t i = 0; i < mn; i += ROWS) {
                    const int64_t m = least(ROWS, mn - i);
                    float *to = y + (m0 + i) * y_row + n0;
                    const float *from = to;
                    int64_t from_row = y_row;
                    float spread[ROWS * COLUMNS];
                    if (k0 == 0 && start.by_row != nullptr) {
                        for (int64_t r = 0; r < m; r++) {
                            for (int j = 0; j < COLUMNS; j++) spread[r * COLUMNS + j] = start.by_row[m0 + i + r];
                        }
                        from = spread;
                        from_row = COLUMNS;
                    } else if (k0 == 0) {
                        from = start.by_column != nullptr ? start.by_column + n0 : nullptr;
                        from_row = 0;
                    }
                    tile[m - 1](p.block + i * p.a_row, p.a_row, p.panel, depth, from, from_row, to, y_row, nn);
                }
            }
        }
    }
}

/* Which of batch products, each m rows by n columns, thread ith of nth computes. */
struct share {
    part batch, rows, columns;

    share(int64_t n_batch, int64_t m, int64_t n, int ith, int nth) : batch(1, 0, 1), rows(1, 0, 1), columns(1, 0, 1) {
        const int64_t row_tiles = ceiling(m, ROWS), panels = ceiling(n, COLUMNS);
        // Of all ways to cut, the one whose largest share is done first: to pack an
        // element takes as long as to multiply it with a few others.
        constexpr int64_t pack_row = 10, pack_column = 20;
        int64_t best = -1;
        int by_batch = 1, by_rows = 1;
        for (int i = 1; i <= nth; i++) {
            for (int j = 1; nth % i == 0 && j <= nth / i; j++) {
                if (nth / i % j != 0) continue;
                const int64_t r = ceiling(row_tiles, j) * ROWS, c = ceiling(panels, nth / i / j) * COLUMNS;
                const int64_t cost = ceiling(n_batch, i) * (r * c + r * pack_row + c * pack_column);
                if (best >= 0 && cost >= best) continue;
                best = cost;
                by_batch = i;
                by_rows = j;
            }
        }
        batch = part(n_batch, ith % by_batch, by_batch);
        rows = part(row_tiles, ith / by_batch % by_rows, by_rows);
        columns = part(panels, ith / by_batch / by_rows, nth / by_batch / by_rows);
        rows.begin *= ROWS;
        rows.end = least(rows.end * ROWS, m);
        columns.begin *= COLUMNS;
        columns.end = least(columns.end * COLUMNS, n);
    }
};

/* How much memory a thread likes to have for m rows. */
template <class How>
static int64_t wanted_bytes(int64_t m, int64_t k) {
    return packing::bytes(cut<How>(k).units, least(BLOCK_ROWS, ceiling(m, ROWS) * ROWS));
}

/*
 * Calls f with the share of thread ith of nth and its part of the memory. It was
 * measured by wanted_bytes of this variant for as many threads as there were to be, at
 * least one; if there are more, some rest.
 */
template <class How, class F>
static void with_share(const scratch &memory, int64_t batch, int64_t m, int64_t n, int64_t k, int ith, int nth, F &&f) {
    const int64_t units = cut<How>(k).units;
    const int workers = int(least(nth, memory.bytes / packing::bytes(units, ROWS)));
    if (ith >= workers) return;
    const int64_t each = memory.bytes / workers / 64 * 64;
    f(share(batch, m, n, ith, workers), packing(memory.data + ith * each, each, units));
}

template <class How>
static void product_as(const product &p, int ith, int nth) {
    static const element_type floats = {F32, 1, sizeof(float), nullptr};
    with_share<How>(p.memory, p.batch, p.m, p.n, p.k, ith, nth, [&](const share &mine, const packing &memory) {
        for (int64_t at = mine.batch.begin; at < mine.batch.end; at++) {
            const int64_t i2 = at % p.batch2, i3 = at / p.batch2;
            const element_rows x = {floats, p.x + i2 * p.x_bytes[1] + i3 * p.x_bytes[2], p.x_bytes[0]};
            const element_rows w = {p.type, p.w + i2 / p.repeat2 * p.w_bytes[1] + i3 / p.repeat3 * p.w_bytes[2],
                                    p.w_bytes[0]};
            float *y = p.y + at * p.m * p.n;
            multiply_block<How>(x, w, mine.rows, mine.columns, p.k, {p.bias, nullptr}, y, p.n, memory);
            mend_block(x, w, mine.rows, mine.columns, p.k, p.bias, y, p.n);
        }
    });
}

/* Whether factors are rounded to bf16: where the processor multiplies these, and a
 * weight is of no more bits. */
static bool narrows(int32_t weight) {
#if defined(WITH_BF16)
    return weight != F32 && weight != F16;
#else
    (void)weight;
    return false;
#endif
}

#if !defined(WITH_BF16)
using as_bf16 = as_f32;
#endif

static int64_t wanted_by(int32_t weight, int64_t m, int64_t k) {
    return narrows(weight) ? wanted_bytes<as_bf16>(m, k) : wanted_bytes<as_f32>(m, k);
}

static void product_part(const product &p, int ith, int nth) {
    narrows(p.type.is) ? product_as<as_bf16>(p, ith, nth) : product_as<as_f32>(p, ith, nth);
}
