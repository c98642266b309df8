/*
 * The check of products that a library such as ggml has computed: included once for each instruction set
 * behind product_body.h, whose vectors it uses.
 *
 * Such a library rounds x to f16, or to integers with an f16 scale for each block of 32. Beyond
 * the range of f16 a result becomes infinity or NaN, below it zero, and a NaN among
 * integers is lost. The rows of x where that may happen, and the results that are no
 * finite numbers, are computed again here, from the weight's values and the x as they
 * are, summed in double: right for every input, if slower. All others are left alone.
 */

enum {
    CHECKED_ROWS = 32,       // of x whose sums are kept while a row of the weight is read
    CHECKED_COLUMNS = 1024,  // whose results are looked at together
};

/* The result of one row of the weight with each row of x that wanted names. */
static void recompute(const checked_product &p, const char *w, const float *const *x, uint32_t wanted, float bias,
                      float *const *y) {
    double sum[CHECKED_ROWS] = {};
    float expanded[EXPANDED + LANES];
    for (int64_t k0 = 0; k0 < p.of.k; k0 += EXPANDED) {
        const int64_t n = least(EXPANDED, p.of.k - k0);
        read_units<as_f32>(p.of.type, w, k0, n, expanded);
        for (uint32_t left = wanted; left != 0; left &= left - 1) {
            const int r = __builtin_ctz(left);
            sum[r] += dot(x[r] + k0, expanded, n);
        }
    }
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
        const int r = __builtin_ctz(left);
        *y[r] = float(sum[r]) + bias;
    }
}

static void check_columns(const checked_product &p, const char *w, const float *const *x, float *const *y, int rows,
                          uint32_t spoilt, part columns) {
    for (int64_t first = columns.begin; first < columns.end; first += CHECKED_COLUMNS) {
        const int64_t n = least(CHECKED_COLUMNS, columns.end - first);
        uint32_t suspect = 0;
        for (int r = 0; r < rows; r++) {
            if ((spoilt >> r & 1) == 0 && has_other_than_finite(y[r] + first, n)) suspect |= uint32_t(1) << r;
        }
        const uint32_t good = ~(spoilt | suspect);
        const float *bias = p.of.bias;
        for (int r = 0; bias != nullptr && r < rows; r++) {
            if ((good >> r & 1) == 0) continue;
            float *to = y[r] + first;
            int64_t i = 0;
            for (; i + LANES <= n; i += LANES) store(to + i, load(to + i) + load(bias + first + i));
            for (; i < n; i++) to[i] += bias[first + i];
        }
        if ((spoilt | suspect) == 0) continue;
        for (int64_t c = first; c < first + n; c++) {
            const float summand = bias != nullptr ? bias[c] : 0;
            uint32_t wanted = spoilt;
            float *to[CHECKED_ROWS];
            for (int r = 0; r < rows; r++) {
                to[r] = y[r] + c;
                if ((suspect >> r & 1) == 0) continue;
                if (has_other_than_finite(to[r], 1)) {
                    wanted |= uint32_t(1) << r;
                } else {
                    *to[r] += summand;
                }
            }
            if (wanted != 0) recompute(p, w + c * p.of.w_bytes[0], x, wanted, summand, to);
        }
    }
}

static void check_part(const checked_product &p, int ith, int nth) {
    // Few rows are looked at by every thread, each of which checks its columns.
    const bool by_rows = p.of.m >= 4 * int64_t(nth);
    const part rows = by_rows ? part(p.of.m, ith, nth) : part(p.of.m, 0, 1);
    const part columns = by_rows ? part(p.of.n, 0, 1) : part(p.of.n, ith, nth);
    for (int64_t at = 0; at < p.of.batch; at++) {
        const int64_t i2 = at % p.of.batch2, i3 = at / p.of.batch2;
        const char *matrix = p.of.x + i2 * p.of.x_bytes[1] + i3 * p.of.x_bytes[2];
        const char *w = p.of.w + i2 / p.of.repeat2 * p.of.w_bytes[1] + i3 / p.of.repeat3 * p.of.w_bytes[2];
        for (int64_t first = rows.begin; first < rows.end; first += CHECKED_ROWS) {
            const int count = int(least(CHECKED_ROWS, rows.end - first));
            const float *x[CHECKED_ROWS];
            float *y[CHECKED_ROWS];
            uint32_t spoilt = 0;
            for (int r = 0; r < count; r++) {
                x[r] = reinterpret_cast<const float *>(matrix + (first + r) * p.of.x_bytes[0]);
                y[r] = p.of.y + (at * p.of.m + first + r) * p.of.n;
                const int32_t top = largest_bits(x[r], p.of.k);
                if (top != 0 && (top < p.least_bits || top > p.most_bits)) spoilt |= uint32_t(1) << r;
            }
            check_columns(p, w, x, y, count, spoilt, columns);
        }
    }
}
