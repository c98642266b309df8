/*
 * Attention with the softmax updated key block by key block (Dao et al.,
 * "FlashAttention", 2022): included once for each instruction set, inside a namespace
 * of its own, hence without an include guard.
 *
 * A piece of work is rows of queries that read one key head, numbered query by query,
 * and a chunk of keys. Its result is kept as the mean of the values so far, weighted by
 * the exponentials: it can become no larger than the values are.
 *
 * With many rows the scores of a block stand key by key, the rows side by side in
 * vectors: so neither keys nor values are rearranged, only the queries, once. With few
 * rows vectors go along a head instead.
 */

#include "vectors_body.h"

enum {
    KEYS = 96,                // of a block
    ROWS = 48,                // of a piece, at most: whole vectors
    FEW = 8,                  // rows, at most, that go head by head
    M = LANES == 16 ? 8 : 6,  // so many rows by so many vectors of sums fill the registers
    V = LANES == 16 ? 3 : 2,
};

static constexpr float hidden = -__builtin_inff();

/* A thread's memory for one piece. */
struct work {
    float *q;                        // [d, ROWS], or few rows [FEW, whole(d)]; times the scale
    float *keys;                     // [KEYS, d] of a block, where they are not f32
    float *scores;                   // [KEYS, ROWS] or [FEW, KEYS], then their exponentials
    float *values;                   // [KEYS, whole(dv)], where they are not f32 or no whole vectors
    float *y;                        // [ROWS, whole(dv)], the mean so far
    float *top, *sum;                // of each row: the largest score, the sum of exponentials
    float *keep, *take;              // what the mean and a block's sum of values are multiplied by
    int64_t first[ROWS], end[ROWS];  // the keys that a row sees

    work(char *memory, int64_t d, int64_t dv) {
        float *at = reinterpret_cast<float *>(memory);
        const auto next = [&at](int64_t n) {
            float *p = at;
            at += ceiling(n, 16) * 16;
            return p;
        };
        q = next(whole(d) * ROWS);
        keys = next(KEYS * whole(d));
        scores = next(KEYS * ROWS);
        values = next(KEYS * whole(dv));
        y = next(ROWS * whole(dv));
        top = next(ROWS), sum = next(ROWS), keep = next(ROWS), take = next(ROWS);
    }
};

/* ------------------------------------------------------------------ Many rows -- */

/*
 * to[m][v] = keep[m] to[m][v] + take[m] sum over k of a(m, k) b[k][v], a at a[m * a_row +
 * k] or, transposed, at a[k * a_row + m]. Without keep and take: just the sum.
 */
template <int MM, int VV, bool transposed>
static void tile(const float *a, int64_t a_row, const float *b, int64_t b_row, int64_t depth, float *to, int64_t to_row,
                 const float *keep, const float *take) {
    vec s[MM][VV] = {};
    for (int64_t k = 0; k < depth; k++) {
        vec column[VV];
#pragma GCC unroll 4
        for (int v = 0; v < VV; v++) column[v] = load(b + k * b_row + v * LANES);
#pragma GCC unroll 8
        for (int m = 0; m < MM; m++) {
            const float factor = transposed ? a[k * a_row + m] : a[m * a_row + k];
#pragma GCC unroll 4
            for (int v = 0; v < VV; v++) s[m][v] += factor * column[v];
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < MM; m++) {
#pragma GCC unroll 4
        for (int v = 0; v < VV; v++) {
            float *y = to + m * to_row + v * LANES;
            store(y, transposed ? load(y) * keep[m] + s[m][v] * take[m] : s[m][v]);
        }
    }
}

using tile_function = void (*)(const float *, int64_t, const float *, int64_t, int64_t, float *, int64_t, const float *,
                               const float *);

template <bool transposed, int VV>
static tile_function tile_of(int64_t rows) {
    switch (rows) {
        case 1:
            return tile<1, VV, transposed>;
        case 2:
            return tile<2, VV, transposed>;
        case 3:
            return tile<3, VV, transposed>;
        case 4:
            return tile<4, VV, transposed>;
        case 5:
            return tile<5, VV, transposed>;
#if LANES == 16
        case 6:
            return tile<6, VV, transposed>;
        case 7:
            return tile<7, VV, transposed>;
#endif
        default:
            return tile<M, VV, transposed>;
    }
}

/* The product of m rows of a and b, which has so many columns, all whole vectors. */
template <bool transposed>
static void multiply_all(const float *a, int64_t a_row, const float *b, int64_t b_row, int64_t depth, float *to,
                         int64_t to_row, int64_t m, int64_t columns, const float *keep, const float *take) {
    for (int64_t c = 0; c < columns;) {
        const int64_t vectors = least(V, (columns - c) / LANES);
        for (int64_t i = 0; i < m; i += M) {
            const int64_t rows = least(M, m - i);
            const tile_function f = vectors == 1   ? tile_of<transposed, 1>(rows)
                                    : vectors == 2 ? tile_of<transposed, 2>(rows)
                                                   : tile_of<transposed, V>(rows);
            f(a + (transposed ? i : i * a_row), a_row, b + c, b_row, depth, to + i * to_row + c, to_row,
              keep + (transposed ? i : 0), take + (transposed ? i : 0));
        }
        c += vectors * LANES;
    }
}

/* Rows of a dtype as floats, side by side, zeros behind each. */
template <class From>
static void widen_as(const char *from, size_t from_row, int64_t rows, int64_t n, float *to, int64_t to_row) {
    for (int64_t r = 0; r < rows; r++) {
        const char *x = from + r * from_row;
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES) store(to + i, From::read(x + i * From::BYTES));
        if (i < n) store_part(to + i, From::read_part(x + i * From::BYTES, n - i), least(LANES, to_row - i));
        to += to_row;
    }
}

static void widen(int32_t type, const char *from, size_t from_row, int64_t rows, int64_t n, float *to, int64_t to_row) {
    switch (type) {
        case F16:
            return widen_as<of_f16>(from, from_row, rows, n, to, to_row);
        case BF16:
            return widen_as<of_bf16>(from, from_row, rows, n, to, to_row);
        default:
            return widen_as<of_f32>(from, from_row, rows, n, to, to_row);
    }
}

/* One step of the softmax for rows that stand side by side in vectors, of so many keys. */
static void soften_columns(work &w, int64_t rows, int64_t keys) {
    for (int64_t r = 0; r < rows; r += LANES) {
        const vec before = load(w.top + r);
        vec top = before;
        for (int64_t i = 0; i < keys; i++) {
            const vec s = load(w.scores + i * ROWS + r);
            top = s > top ? s : top;
        }
        const vec from = top == hidden ? vec{} : top;  // nothing seen yet: minus infinity less itself is NaN
        vec sum = {};
        for (int64_t i = 0; i < keys; i++) {
            const vec e = exponential(load(w.scores + i * ROWS + r) - from);
            store(w.scores + i * ROWS + r, e);
            sum += e;
        }
        const vec old = load(w.sum + r) * exponential(before - from);
        const vec now = old + sum;
        const vec one_of = now == 0.0f ? vec{} : 1.0f / now;
        store(w.top + r, top);
        store(w.sum + r, now);
        store(w.keep + r, old * one_of);
        store(w.take + r, one_of);
    }
}

/* ------------------------------------------------------------------- Few rows -- */

/* The scores of R rows with N keys at a time. */
template <class From, int R, int N>
static inline void score_keys(const float *q, int64_t q_row, const char *k, size_t k_row, int64_t d, float *scores) {
    vec s[R * N] = {};
    int64_t i = 0;
    for (; i + LANES <= d; i += LANES) {
#pragma GCC unroll 8
        for (int n = 0; n < N; n++) {
            const vec key = From::read(k + n * k_row + i * From::BYTES);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) s[r * N + n] += load(q + r * q_row + i) * key;
        }
    }
    if (i < d) {
        for (int n = 0; n < N; n++) {
            const vec key = From::read_part(k + n * k_row + i * From::BYTES, d - i);
            for (int r = 0; r < R; r++) s[r * N + n] += load(q + r * q_row + i) * key;
        }
    }
    float sums[R * N];
    if constexpr (R * N % 4 == 0) {
#pragma GCC unroll 4
        for (int i = 0; i < R * N; i += 4) sum_each(s + i, sums + i);
    } else {
        for (int i = 0; i < R * N; i++) sums[i] = sum(s[i]);
    }
    for (int r = 0; r < R; r++) std::memcpy(scores + r * KEYS, sums + r * N, N * sizeof(float));
}

template <class From, int R, int N>
static void score(const float *q, int64_t q_row, const char *k, size_t k_row, int64_t keys, int64_t d, float *scores) {
    int64_t i = 0;
    for (; i + N <= keys; i += N) score_keys<From, R, N>(q, q_row, k + i * k_row, k_row, d, scores + i);
    for (; i < keys; i++) score_keys<From, R, 1>(q, q_row, k + i * k_row, k_row, d, scores + i);
}

template <class From>
static void score_few(const work &w, int64_t rows, const char *k, size_t k_row, int64_t keys, int64_t d) {
    const int64_t q_row = whole(d);
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        score<From, 4, 2>(w.q + r * q_row, q_row, k, k_row, keys, d, w.scores + r * KEYS);
    }
    if (r + 2 <= rows) {
        score<From, 2, 4>(w.q + r * q_row, q_row, k, k_row, keys, d, w.scores + r * KEYS);
        r += 2;
    }
    if (r < rows) score<From, 1, 4>(w.q + r * q_row, q_row, k, k_row, keys, d, w.scores + r * KEYS);
}

/* One step of the softmax for a row of scores. */
static void soften_row(work &w, int64_t row, int64_t keys) {
    float *scores = w.scores + row * KEYS;
    for (int64_t i = keys; i < whole(keys); i++) scores[i] = hidden;
    vec top = all(w.top[row]);
    for (int64_t i = 0; i < keys; i += LANES) {
        const vec s = load(scores + i);
        top = s > top ? s : top;
    }
    const float now_top = largest(top);
    const float from = now_top == hidden ? 0 : now_top;
    vec sums = {};
    for (int64_t i = 0; i < keys; i += LANES) {
        const vec e = exponential(load(scores + i) - from);
        store(scores + i, e);
        sums += e;
    }
    float shrink[LANES];
    store(shrink, exponential(all(w.top[row] - from)));
    const float old = w.sum[row] * shrink[0];
    const float now = old + sum(sums);
    w.top[row] = now_top;
    w.sum[row] = now;
    w.take[row] = now == 0 ? 0 : 1 / now;
    w.keep[row] = old * w.take[row];
}

/* The mean of R rows with so many keys' values added, N vectors of each; of the last n elements. */
template <class From, int R, int N, bool part>
static inline void add_values(const float *scores, const char *v, size_t v_row, int64_t keys, float *y, int64_t y_row,
                              const float *keep, const float *take, int64_t n) {
    vec s[R][N] = {};
    for (int64_t i = 0; i < keys; i++) {
        const char *value = v + i * v_row;
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            const vec x = part ? From::read_part(value, n) : From::read(value + c * LANES * From::BYTES);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) s[r][c] += scores[r * KEYS + i] * x;
        }
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < N; c++) {
            float *at = y + r * y_row + c * LANES;
            store(at, load(at) * keep[r] + s[r][c] * take[r]);
        }
    }
}

template <class From, int R, int N>
static void add_rows(const work &w, int64_t r, const char *v, size_t v_row, int64_t keys, int64_t dv) {
    const int64_t y_row = whole(dv);
    const float *scores = w.scores + r * KEYS;
    float *y = w.y + r * y_row;
    int64_t c = 0;
    for (; c + N * LANES <= dv; c += N * LANES) {
        add_values<From, R, N, false>(scores, v + c * From::BYTES, v_row, keys, y + c, y_row, w.keep + r, w.take + r,
                                      0);
    }
    for (; c + LANES <= dv; c += LANES) {
        add_values<From, R, 1, false>(scores, v + c * From::BYTES, v_row, keys, y + c, y_row, w.keep + r, w.take + r,
                                      0);
    }
    if (c < dv) {
        add_values<From, R, 1, true>(scores, v + c * From::BYTES, v_row, keys, y + c, y_row, w.keep + r, w.take + r,
                                     dv - c);
    }
}

template <class From>
static void add_few(const work &w, int64_t rows, const char *v, size_t v_row, int64_t keys, int64_t dv) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) add_rows<From, 4, 2>(w, r, v, v_row, keys, dv);
    if (r + 2 <= rows) {
        add_rows<From, 2, 4>(w, r, v, v_row, keys, dv);
        r += 2;
    }
    if (r < rows) add_rows<From, 1, 8>(w, r, v, v_row, keys, dv);
}

/* -------------------------------------------------------------------- A piece -- */

/* A piece: rows [row, row + rows) of key head head, keys [begin, end). */
struct piece {
    int64_t head, row, rows, begin, end;
    int64_t group;  // heads that read the key head

    int64_t query(int64_t r) const { return (row + r) / group; }
    int64_t query_head(int64_t r) const { return head * group + (row + r) % group; }
};

/* Which keys of [begin, end) each row sees, and from the first to the last that any does. */
static void see(const attention &a, piece &p, work &w) {
    int64_t first = p.end, end = p.begin;
    for (int64_t r = 0; r < p.rows; r++) {
        w.first[r] = p.begin, w.end[r] = p.end;
        if (a.causal || a.positions != nullptr) {
            const int64_t j = p.query(r), at = a.positions != nullptr ? a.positions[j] : a.n - a.t + j;
            w.end[r] = greatest(least(at + 1, p.end), p.begin);
            if (a.window > 0) w.first[r] = greatest(at - a.window + 1, p.begin);
            w.first[r] = least(w.first[r], w.end[r]);
        }
        if (w.first[r] == w.end[r]) continue;
        first = least(first, w.first[r]);
        end = greatest(end, w.end[r]);
    }
    p.begin = first, p.end = end;
}

/* Whether there are infinities or NaN among values: 0 times these is not 0. */
static bool any_not_finite(int32_t type, const char *v, size_t v_row, int64_t keys, int64_t dv) {
    float row[LANES];
    const int64_t bytes = type == F32 ? 4 : 2;
    for (int64_t i = 0; i < keys; i++) {
        for (int64_t c = 0; c < dv; c += LANES) {
            const int64_t n = least(LANES, dv - c);
            widen(type, v + i * v_row + c * bytes, 0, 1, n, row, LANES);
            for (int64_t e = 0; e < n; e++) {
                if (row[e] - row[e] != 0) return true;
            }
        }
    }
    return false;
}

/*
 * Adds a block's values row by row, of each only the keys that it sees. score gives
 * where a row's exponential of a key is.
 */
template <class Score>
static void add_seen(const attention &a, const piece &p, work &w, int64_t begin, int64_t keys, Score &&score) {
    const int64_t y_row = whole(a.dv);
    widen(a.v_type, a.v + begin * a.v_row + p.head * a.v_head, a.v_row, keys, a.dv, w.values, y_row);
    for (int64_t r = 0; r < p.rows; r++) {
        float *y = w.y + r * y_row;
        for (int64_t c = 0; c < a.dv; c++) {
            float s = 0;
            for (int64_t i = greatest(w.first[r] - begin, 0); i < least(w.end[r] - begin, keys); i++) {
                s += *score(r, i) * w.values[i * y_row + c];
            }
            y[c] = w.keep[r] * y[c] + w.take[r] * s;
        }
    }
}

/* Adds the mask to a block's scores and hides what is not seen; says whether anything was. */
template <class Score>
static bool hide(const attention &a, const piece &p, const work &w, int64_t begin, int64_t keys, Score &&score) {
    bool any = false;
    for (int64_t r = 0; r < p.rows; r++) {
        if (a.mask != nullptr) {
            const float *mask =
                reinterpret_cast<const float *>(reinterpret_cast<const char *>(a.mask) + p.query(r) * a.mask_row) +
                begin;
            for (int64_t i = 0; i < keys; i++) *score(r, i) += mask[i];
        }
        if (w.first[r] <= begin && w.end[r] >= begin + keys) continue;
        any = true;
        for (int64_t i = 0; i < keys; i++) {
            if (begin + i < w.first[r] || begin + i >= w.end[r]) *score(r, i) = hidden;
        }
    }
    return any;
}

static void take_many(const attention &a, const piece &p, work &w) {
    const int64_t columns = whole(p.rows), y_row = whole(a.dv);
    for (int64_t r = 0; r < columns; r++) {
        const char *from = a.q + (r < p.rows ? p.query(r) * a.q_row + p.query_head(r) * a.q_head : 0);
        for (int64_t i = 0; i < a.d; i++) {
            float x;
            std::memcpy(&x, from + i * sizeof x, sizeof x);
            w.q[i * ROWS + r] = r < p.rows ? x * a.scale : 0;
        }
    }
    const auto score = [&w](int64_t r, int64_t i) { return w.scores + i * ROWS + r; };
    for (int64_t begin = p.begin; begin < p.end; begin += KEYS) {
        const int64_t keys = least(KEYS, p.end - begin);
        const char *k = a.k + begin * a.k_row + p.head * a.k_head, *v = a.v + begin * a.v_row + p.head * a.v_head;
        const float *key = reinterpret_cast<const float *>(k), *value = reinterpret_cast<const float *>(v);
        int64_t key_row = a.k_row / sizeof(float), value_row = a.v_row / sizeof(float);
        if (a.k_type != F32) {
            widen(a.k_type, k, a.k_row, keys, a.d, w.keys, a.d);
            key = w.keys, key_row = a.d;
        }
        multiply_all<false>(key, key_row, w.q, ROWS, a.d, w.scores, ROWS, keys, columns, nullptr, nullptr);
        const bool some_hidden = hide(a, p, w, begin, keys, score);
        soften_columns(w, columns, keys);
        if (some_hidden && any_not_finite(a.v_type, v, a.v_row, keys, a.dv)) {
            add_seen(a, p, w, begin, keys, score);
            continue;
        }
        if (a.v_type != F32 || a.dv % LANES != 0) {
            widen(a.v_type, v, a.v_row, keys, a.dv, w.values, y_row);
            value = w.values, value_row = y_row;
        }
        multiply_all<true>(w.scores, ROWS, value, value_row, keys, w.y, y_row, p.rows, y_row, w.keep, w.take);
    }
}

static void take_few(const attention &a, const piece &p, work &w) {
    const int64_t q_row = whole(a.d);
    for (int64_t r = 0; r < p.rows; r++) {
        const char *from = a.q + p.query(r) * a.q_row + p.query_head(r) * a.q_head;
        float *q = w.q + r * q_row;
        std::memcpy(q, from, a.d * sizeof(float));
        for (int64_t i = 0; i < q_row; i++) q[i] = i < a.d ? q[i] * a.scale : 0;
    }
    const auto score = [&w](int64_t r, int64_t i) { return w.scores + r * KEYS + i; };
    for (int64_t begin = p.begin; begin < p.end; begin += KEYS) {
        const int64_t keys = least(KEYS, p.end - begin);
        const char *k = a.k + begin * a.k_row + p.head * a.k_head, *v = a.v + begin * a.v_row + p.head * a.v_head;
        switch (a.k_type) {
            case F16:
                score_few<of_f16>(w, p.rows, k, a.k_row, keys, a.d);
                break;
            case BF16:
                score_few<of_bf16>(w, p.rows, k, a.k_row, keys, a.d);
                break;
            default:
                score_few<of_f32>(w, p.rows, k, a.k_row, keys, a.d);
        }
        const bool some_hidden = hide(a, p, w, begin, keys, score);
        for (int64_t r = 0; r < p.rows; r++) soften_row(w, r, keys);
        if (some_hidden && any_not_finite(a.v_type, v, a.v_row, keys, a.dv)) {
            add_seen(a, p, w, begin, keys, score);
            continue;
        }
        switch (a.v_type) {
            case F16:
                add_few<of_f16>(w, p.rows, v, a.v_row, keys, a.dv);
                break;
            case BF16:
                add_few<of_bf16>(w, p.rows, v, a.v_row, keys, a.dv);
                break;
            default:
                add_few<of_f32>(w, p.rows, v, a.v_row, keys, a.dv);
        }
    }
}

static void take_piece(const attention &a, piece p, int64_t chunk, work &w) {
    const int64_t y_row = whole(a.dv);
    std::memset(w.y, 0, whole(p.rows) * y_row * sizeof(float));
    for (int64_t r = 0; r < ROWS; r++) w.top[r] = hidden, w.sum[r] = 0;
    see(a, p, w);
    if (p.begin < p.end) {
        if (p.rows <= FEW) {
            take_few(a, p, w);
        } else {
            take_many(a, p, w);
        }
    }
    const bool whole_rows = a.chunk >= a.n;
    const int64_t to_row = whole_rows ? a.dv : a.dv + 2;
    for (int64_t r = 0; r < p.rows; r++) {
        float *y = a.y + (chunk * a.t * a.heads + p.query(r) * a.heads + p.query_head(r)) * to_row;
        std::memcpy(y, w.y + r * y_row, a.dv * sizeof(float));
        if (!whole_rows) y[a.dv] = w.top[r], y[a.dv + 1] = w.sum[r];
    }
}

static int64_t bytes_of_work(int64_t d, int64_t dv) {
    // The same for every instruction set, of which another may be taken when it runs.
    const int64_t d16 = ceiling(d, 16) * 16, dv16 = ceiling(dv, 16) * 16;
    const int64_t floats = d16 * ROWS + KEYS * d16 + KEYS * ROWS + KEYS * dv16 + ROWS * dv16 + 4 * ROWS + 10 * 16;
    return ceiling(floats * sizeof(float), 64) * 64;
}

static void attend_part(const attention &a, int ith, int nth) {
    const int64_t bytes = bytes_of_work(a.d, a.dv);
    const int64_t threads = least(nth, a.memory.bytes / bytes);
    if (ith >= threads) return;
    work w(a.memory.data + ith * bytes, a.d, a.dv);
    const int64_t group = a.heads / a.kv_heads, rows = a.t * group;
    const int64_t pieces = ceiling(rows, ROWS), chunks = ceiling(a.n, a.chunk);
    // Neighbours, which may see more keys the later they are, go to different threads.
    for (int64_t i = ith; i < chunks * pieces * a.kv_heads; i += threads) {
        const int64_t head = i % a.kv_heads, row = i / a.kv_heads % pieces * ROWS, chunk = i / a.kv_heads / pieces;
        const piece p = {head, row, least(ROWS, rows - row), chunk * a.chunk, least((chunk + 1) * a.chunk, a.n), group};
        take_piece(a, p, chunk, w);
    }
}
