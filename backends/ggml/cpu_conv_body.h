/*
 * Convolution in vectors of LANES floats: included once for each instruction set
 * (cpu_conv.cpp), inside a namespace of its own, hence without an include guard.
 *
 * For a tile of output positions what they meet is gathered, a part of the kernel's
 * elements at a time, and multiplied with all output channels while it is in the
 * cache: nothing is written but the result.
 */

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float quad __attribute__((vector_size(16)));

static inline vec load(const float *p) {
    vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

/* The first n floats, zeros behind them. */
static inline vec load_part(const float *p, int64_t n) {
    vec v = {};
    std::memcpy(&v, p, n * sizeof(float));
    return v;
}

static inline float sum(vec v) {
    quad q[LANES / 4];
    std::memcpy(q, &v, sizeof v);
    for (int n = LANES / 8; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) q[i] += q[i + n];
    }
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

/* Positions of a tile, in vectors, and output channels that are summed at once. */
enum { TILE = 2 * LANES, CHANNELS = LANES == 16 ? 8 : 4, DEPTH = 128 };

/*
 * Writes what output positions [first, first + count) meet of kernel elements
 * [k0, k0 + depth) of a group's channels: tile[k * stride_k + p * stride_p], zeros
 * outside of the image.
 */
static void gather(const conv &c, const float *image, int64_t first, int64_t count, int64_t k0, int64_t depth,
                   float *tile, int64_t stride_k, int64_t stride_p) {
    int64_t channel = k0 / (c.kh * c.kw), ky = k0 / c.kw % c.kh, kx = k0 % c.kw;
    for (int64_t k = 0; k < depth; k++) {
        const float *plane = image + channel * c.h * c.w;
        float *to = tile + k * stride_k;
        int64_t p = 0, oy = first / c.ow, ox = first % c.ow;
        while (p < count) {
            // The positions that lie in one row of the output.
            const int64_t n = std::min(count - p, c.ow - ox);
            const int64_t y = oy * c.stride_h + ky * c.dilation_h - c.top;
            const int64_t x = ox * c.stride_w + kx * c.dilation_w - c.left;
            if (y < 0 || y >= c.h) {
                for (int64_t i = 0; i < n; i++) to[(p + i) * stride_p] = 0;
            } else {
                const float *row = plane + y * c.w;
                if (c.stride_w == 1 && stride_p == 1 && x >= 0 && x + n <= c.w) {
                    std::memcpy(to + p, row + x, n * sizeof(float));
                } else {
                    for (int64_t i = 0; i < n; i++) {
                        const int64_t at = x + i * c.stride_w;
                        to[(p + i) * stride_p] = at >= 0 && at < c.w ? row[at] : 0;
                    }
                }
            }
            p += n;
            ox = 0;
            oy++;
        }
        if (++kx == c.kw) {
            kx = 0;
            if (++ky == c.kh) {
                ky = 0;
                channel++;
            }
        }
    }
}

/*
 * N output channels at the positions of a tile: y[channel * plane + position] += the
 * products of depth kernel elements. Vectors run along the positions.
 */
template <int N>
static void channels_by_tile(const float *tile, const float *weight, int64_t weight_stride, int64_t depth, float *y,
                             int64_t plane, int64_t count) {
    vec acc[N][2];
    for (int j = 0; j < N; j++) {
        for (int v = 0; v < 2; v++) {
            const int64_t n = std::clamp<int64_t>(count - v * LANES, 0, LANES);
            acc[j][v] = n == LANES ? load(y + j * plane + v * LANES) : load_part(y + j * plane + v * LANES, n);
        }
    }
    for (int64_t k = 0; k < depth; k++) {
        const vec a = load(tile + k * TILE), b = load(tile + k * TILE + LANES);
        for (int j = 0; j < N; j++) {
            const float w = weight[j * weight_stride + k];
            acc[j][0] += a * w;
            acc[j][1] += b * w;
        }
    }
    for (int j = 0; j < N; j++) {
        for (int v = 0; v < 2; v++) {
            const int64_t n = std::clamp<int64_t>(count - v * LANES, 0, LANES);
            std::memcpy(y + j * plane + v * LANES, &acc[j][v], n * sizeof(float));
        }
    }
}

/* One tile of positions, for all of a group's output channels. */
static void conv_tile(const conv &c, int64_t image, int64_t group, int64_t first, int64_t count) {
    alignas(64) float tile[DEPTH * TILE];
    const int64_t k_total = c.ic * c.kh * c.kw, plane = c.oh * c.ow, per_group = c.oc / c.groups;
    const float *x = c.x + (image * c.groups + group) * c.ic * c.h * c.w;
    float *y = c.y + (image * c.oc + group * per_group) * plane + first;
    for (int64_t o = 0; o < per_group; o++) {
        const float bias = c.bias != nullptr ? c.bias[group * per_group + o] : 0;
        std::fill(y + o * plane, y + o * plane + count, bias);
    }
    if (count < TILE) std::fill(tile, tile + DEPTH * TILE, 0.0f);
    for (int64_t k0 = 0; k0 < k_total; k0 += DEPTH) {
        const int64_t depth = std::min<int64_t>(DEPTH, k_total - k0);
        gather(c, x, first, count, k0, depth, tile, TILE, 1);
        const float *weight = c.weight + group * per_group * k_total + k0;
        int64_t o = 0;
        for (; o + CHANNELS <= per_group; o += CHANNELS) {
            channels_by_tile<CHANNELS>(tile, weight + o * k_total, k_total, depth, y + o * plane, plane, count);
        }
        for (; o < per_group; o++) {
            channels_by_tile<1>(tile, weight + o * k_total, k_total, depth, y + o * plane, plane, count);
        }
    }
}

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
        const int64_t depth = std::min<int64_t>(FEW_DEPTH, k_total - k0), whole = depth / LANES * LANES;
        gather(c, x, first, P, k0, depth, columns, 1, FEW_DEPTH);
        for (int64_t o = begin; o < end; o++) {
            const float *weight = c.weight + (group * per_group + o) * k_total + k0;
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

static void conv_part(const conv &c, int ith, int nth) {
    const int64_t plane = c.oh * c.ow, per_group = c.oc / c.groups;
    if (plane <= 2 * FEW) {
        const part channels(per_group, ith, nth);
        for (int64_t at = 0; at < c.n * c.groups; at++) {
            const int64_t image = at / c.groups, group = at % c.groups;
            int64_t p = 0;
            for (; p + FEW <= plane; p += FEW) {
                few_positions<FEW>(c, image, group, p, channels.begin, channels.end);
            }
            for (; p < plane; p++) few_positions<1>(c, image, group, p, channels.begin, channels.end);
        }
        return;
    }
    const int64_t tiles = (plane + TILE - 1) / TILE;
    const part work(c.n * c.groups * tiles, ith, nth);
    for (int64_t at = work.begin; at < work.end; at++) {
        const int64_t first = at % tiles * TILE, outer = at / tiles;
        conv_tile(c, outer / c.groups, outer % c.groups, first, std::min<int64_t>(TILE, plane - first));
    }
}
