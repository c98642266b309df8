/*
 * Convolution as a product whose windows are gathered while they are packed: included
 * once for each instruction set, as the products are that it brings along.
 */

#include "product_body.h"

static inline vec load_part(const float *p, int64_t n) {
    vec v = {};
    std::memcpy(&v, p, n * sizeof(float));
    return v;
}

static inline float sum(vec v) {
    float lanes[LANES];
    store(lanes, v);
    for (int n = LANES / 2; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) lanes[i] += lanes[i + n];
    }
    return lanes[0];
}

/* n floats, of which all vectors but the last are whole. */
static inline void copy_floats(float *to, const float *from, int64_t n) {
#if LANES == 16
    for (; n > LANES; n -= LANES, to += LANES, from += LANES) store(to, load(from));
    const auto some = __mmask16((1u << n) - 1);
    _mm512_mask_storeu_ps(to, some, _mm512_maskz_loadu_ps(some, from));
#else
    std::memcpy(to, from, n * sizeof(float));
#endif
}

/*
 * What output positions [first, first + count) meet of kernel elements [k0, k0 +
 * depth), ordered as channels, rows, columns, of a group's channels: to[k * stride_k +
 * p * stride_p], zeros outside of the image.
 */
static void gather(const conv &c, const float *image, int64_t first, int64_t count, int64_t k0, int64_t depth,
                   float *to, int64_t stride_k, int64_t stride_p) {
    const int64_t taps = c.kh * c.kw;
    int64_t run = 0;
    for (int64_t p = 0; p < count; p += run) {
        // A run of positions lies in one row of the output.
        const int64_t oy = (first + p) / c.ow, ox = (first + p) % c.ow;
        run = least(count - p, c.ow - ox);
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t y = oy * c.stride_h + tap / c.kw * c.dilation_h - c.top;
            const int64_t x = ox * c.stride_w + tap % c.kw * c.dilation_w - c.left;
            // Of the run [low, high) lies within the image.
            int64_t low = x >= 0 ? 0 : least(ceiling(-x, c.stride_w), run);
            int64_t high = x >= c.w ? 0 : least(ceiling(c.w - x, c.stride_w), run);
            if (y < 0 || y >= c.h || low >= high) low = high = 0;
            const int64_t channel = tap >= k0 ? 0 : ceiling(k0 - tap, taps);
            int64_t from = (channel * c.h + y) * c.w + x;                        // in the image between low and high
            int64_t at = (channel * taps + tap - k0) * stride_k + p * stride_p;  // in to
            for (int64_t k = channel * taps + tap; k < k0 + depth; k += taps) {
                if (stride_p == 1 && c.stride_w == 1 && high - low == COLUMNS) {
                    for (int v = 0; v < VECTORS; v++) store(to + at + v * LANES, load(image + from + v * LANES));
                } else if (stride_p == 1 && c.stride_w == 1) {
                    for (int64_t i = 0; i < low; i++) to[at + i] = 0;
                    if (high > low) copy_floats(to + at + low, image + (from + low), high - low);
                    for (int64_t i = high; i < run; i++) to[at + i] = 0;
                } else {
                    for (int64_t i = 0; i < low; i++) to[at + i * stride_p] = 0;
                    for (int64_t i = low; i < high; i++) to[at + i * stride_p] = image[from + i * c.stride_w];
                    for (int64_t i = high; i < run; i++) to[at + i * stride_p] = 0;
                }
                from += c.h * c.w;
                at += taps * stride_k;
            }
        }
    }
}

/* Windows as columns of b, one for each output position; kernel elements as in gather. */
struct window_columns {
    const conv &c;
    const float *image;

    template <class How>
    void pack_panel(int64_t n0, int64_t count, int64_t k0, int64_t n, float *panel, float *) const {
        gather(c, image, n0, count, k0, n, panel, COLUMNS, 1);
        const int64_t whole = ceiling(count, LANES) * LANES;
        for (int64_t k = 0; k < n && count < whole; k++) {
            for (int64_t i = count; i < whole; i++) panel[k * COLUMNS + i] = 0;
        }
    }
};

/* Windows as rows of a; kernel elements are ordered as rows, columns, channels. */
struct window_rows {
    const conv &c;
    const float *image;  // and its other groups' channels

    template <class How>
    void pack_row(int64_t m, int64_t k0, int64_t n, float *to) const {
        if constexpr (How::PER_UNIT == 1) {
            gather_row(m, k0, n, to);
        }
#if defined(WITH_BF16)
        else {
            float row[2 * DEPTH];
            gather_row(m, k0, n, row);
            narrow(row, n, to);
        }
#endif
    }

    void gather_row(int64_t m, int64_t k0, int64_t n, float *to) const {
        const int64_t top = m / c.ow * c.stride_h - c.top, left = m % c.ow * c.stride_w - c.left;
        int64_t tap = k0 / c.ic, channel = k0 % c.ic;
        for (int64_t run = 0; n > 0; n -= run, to += run, channel = 0, tap++) {
            run = least(n, c.ic - channel);
            const int64_t y = top + tap / c.kw * c.dilation_h, x = left + tap % c.kw * c.dilation_w;
            if (y < 0 || y >= c.h || x < 0 || x >= c.w) {
                std::memset(to, 0, run * sizeof(float));
            } else {
                std::memcpy(to, image + (y * c.w + x) * c.groups * c.ic + channel, run * sizeof(float));
            }
        }
    }
};

/*
 * Few positions: vectors run along the kernel's elements instead. P positions, for
 * the output channels [begin, end) of a group.
 */
enum { FEW = 4, FEW_DEPTH = 1024 };

template <int P>
static void few_positions(const conv &c, int64_t image, int64_t group, int64_t first, int64_t begin, int64_t end) {
    alignas(64) float columns[P * FEW_DEPTH];
    const int64_t k_total = c.ic * c.kh * c.kw, plane = c.oh * c.ow, per_group = c.oc / c.groups;
    const float *x = c.x + (image * c.groups + group) * c.ic * c.h * c.w;
    for (int64_t k0 = 0; k0 < k_total; k0 += FEW_DEPTH) {
        const int64_t depth = least(FEW_DEPTH, k_total - k0), whole = depth / LANES * LANES;
        gather(c, x, first, P, k0, depth, columns, 1, FEW_DEPTH);
        for (int64_t o = begin; o < end; o++) {
            const float *weight = reinterpret_cast<const float *>(c.weight) + (group * per_group + o) * k_total + k0;
            vec acc[P] = {};
            for (int64_t k = 0; k < whole; k += LANES) {
                const vec w = load(weight + k);
                for (int p = 0; p < P; p++) acc[p] += w * load(columns + p * FEW_DEPTH + k);
            }
            const vec rest = load_part(weight + whole, depth - whole);
            float *y = c.y + (image * c.oc + group * per_group + o) * plane + first;
            const float bias = c.bias != nullptr ? c.bias[group * per_group + o] : 0;
            for (int p = 0; p < P; p++) {
                acc[p] += rest * load_part(columns + p * FEW_DEPTH + whole, depth - whole);
                y[p] = sum(acc[p]) + (k0 == 0 ? bias : y[p]);
            }
        }
    }
}

static void conv_of_few(const conv &c, int ith, int nth) {
    const int64_t plane = c.oh * c.ow;
    const part channels(c.oc / c.groups, ith, nth);
    for (int64_t at = 0; at < c.n * c.groups; at++) {
        const int64_t image = at / c.groups, group = at % c.groups;
        int64_t p = 0;
        for (; p + FEW <= plane; p += FEW) few_positions<FEW>(c, image, group, p, channels.begin, channels.end);
        for (; p < plane; p++) few_positions<1>(c, image, group, p, channels.begin, channels.end);
    }
}

/* The channels of a position lie side by side: so many rows of windows by the weight. */
template <class How>
static void conv_to_rows(const conv &c, int ith, int nth) {
    const int64_t plane = c.oh * c.ow, per_group = c.oc / c.groups, k = c.ic * c.kh * c.kw;
    const size_t row_bytes = k / c.type.block * c.type.block_bytes;
    with_share<How>(c.memory, c.n * c.groups, plane, per_group, k, ith, nth, [&](const share &mine, const packing &p) {
        for (int64_t at = mine.batch.begin; at < mine.batch.end; at++) {
            const int64_t image = at / c.groups, group = at % c.groups, first = group * per_group;
            const window_rows windows = {c, c.x + image * c.h * c.w * c.groups * c.ic + group * c.ic};
            const element_rows weight = {c.type, c.weight + first * row_bytes, row_bytes};
            const float *bias = c.bias != nullptr ? c.bias + first : nullptr;
            float *y = c.y + image * plane * c.oc + first;
            multiply_block<How>(windows, weight, mine.rows, mine.columns, k, {bias, nullptr}, y, c.oc, p);
            mend_block(windows, weight, mine.rows, mine.columns, k, bias, y, c.oc);
        }
    });
}

/* The positions of a channel lie side by side: the weight by so many columns of windows. */
static void conv_to_planes(const conv &c, int ith, int nth) {
    const int64_t plane = c.oh * c.ow, per_group = c.oc / c.groups, k = c.ic * c.kh * c.kw;
    const size_t row_bytes = k / c.type.block * c.type.block_bytes;
    with_share<as_f32>(c.memory, c.n * c.groups, per_group, plane, k, ith, nth,
                       [&](const share &mine, const packing &p) {
                           for (int64_t at = mine.batch.begin; at < mine.batch.end; at++) {
                               const int64_t group = at % c.groups, first = group * per_group;
                               const window_columns windows = {c, c.x + at * c.ic * c.h * c.w};
                               const element_rows weight = {c.type, c.weight + first * row_bytes, row_bytes};
                               multiply_block<as_f32>(weight, windows, mine.rows, mine.columns, k,
                                                      {nullptr, c.bias != nullptr ? c.bias + first : nullptr},
                                                      c.y + at * per_group * plane, plane, p);
                           }
                       });
}

static void conv_part(const conv &c, int ith, int nth) {
    if (c.channels_last) {
        narrows(c.type.is) ? conv_to_rows<as_bf16>(c, ith, nth) : conv_to_rows<as_f32>(c, ith, nth);
    } else if (c.oh * c.ow <= 2 * FEW) {
        conv_of_few(c, ith, nth);
    } else {
        conv_to_planes(c, ith, nth);
    }
}
