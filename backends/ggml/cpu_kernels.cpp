#include "cpu_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu_attention.h"
#include "cpu_norm.h"
#include "cpu_rope.h"
#include "cpu_snake.h"
#include "cpu_variants.h"
#include "shim_ops.h"

namespace {

using shim::part;

int64_t rows_of(const ggml_tensor *t) { return t->ne[1] * t->ne[2] * t->ne[3]; }

/* Walks dst's rows with up to three operands that are broadcast to it. */
template <int N, class F>
void each_broadcast_row(ggml_tensor *dst, int ith, int nth, F &&f) {
    size_t stride[N][4];
    for (int k = 0; k < N; k++) {
        for (int d = 0; d < 4; d++) stride[k][d] = dst->src[k]->ne[d] == 1 ? 0 : dst->src[k]->nb[d];
    }
    const part rows(rows_of(dst), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const int64_t i1 = r % dst->ne[1], i2 = r / dst->ne[1] % dst->ne[2], i3 = r / dst->ne[1] / dst->ne[2];
        const char *at[N];
        size_t step[N];
        for (int k = 0; k < N; k++) {
            at[k] = static_cast<const char *>(dst->src[k]->data) + i1 * stride[k][1] + i2 * stride[k][2] +
                    i3 * stride[k][3];
            step[k] = stride[k][0];
        }
        f(reinterpret_cast<float *>(static_cast<char *>(dst->data) + i1 * dst->nb[1] + i2 * dst->nb[2] +
                                    i3 * dst->nb[3]),
          at, step);
    }
}

float number(const char *p) {
    float v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class Pick>
void pick(ggml_tensor *dst, int ith, int nth, Pick &&choose) {
    const int64_t n = dst->ne[0];
    each_broadcast_row<2>(dst, ith, nth, [&](float *y, const char **at, const size_t *step) {
        for (int64_t i = 0; i < n; i++) y[i] = choose(number(at[0] + i * step[0]), number(at[1] + i * step[1]));
    });
}

/*
 * A number in another type, as the operator table says: a float becomes the integer
 * nearest to what is left of it behind the point, NaN becomes 0; of an integer the low
 * bits stay.
 */
template <class To, class From>
To converted(From x) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        using limits = std::numeric_limits<To>;
        if (x != x) return 0;
        // As floats the limits may be rounded, to one more than the greatest number.
        if (x >= static_cast<From>(limits::max())) return limits::max();
        if (x <= static_cast<From>(limits::min())) return limits::min();
    }
    return static_cast<To>(x);
}

template <class From, class To>
void convert(const void *from, void *to, part p) {
    const From *x = static_cast<const From *>(from);
    To *y = static_cast<To *>(to);
    for (int64_t i = p.begin; i < p.end; i++) y[i] = converted<To>(x[i]);
}

template <class From>
void convert_from(const ggml_tensor *x, ggml_tensor *y, part p) {
    switch (y->type) {
        case GGML_TYPE_F32:
            return convert<From, float>(x->data, y->data, p);
        case GGML_TYPE_I8:
            return convert<From, int8_t>(x->data, y->data, p);
        case GGML_TYPE_I16:
            return convert<From, int16_t>(x->data, y->data, p);
        case GGML_TYPE_I32:
            return convert<From, int32_t>(x->data, y->data, p);
        default:
            return convert<From, int64_t>(x->data, y->data, p);
    }
}

// So many numbers are computed side by side: loops over them become vector
// instructions, at -O2 too since their length is fixed.
constexpr int64_t lane = 16;

/* e^x to within 2 units in the last place, by e^x = 2^n e^r with |r| <= ln(2)/2 and
 * the Taylor series of e^r (Cody and Waite, Software Manual for the Elementary
 * Functions, 1980). Beyond what f32 holds x is cut off; NaN stays NaN. */
inline float exponential(float x) {
    const float cut = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float shifted = cut * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the sum's last bits are n
    const float n = shifted - 12582912.0f;
    const float r = cut - n * 0.693359375f - n * -2.12194440e-4f;
    const float series =
        1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
    int32_t bits, power;
    std::memcpy(&bits, &series, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += static_cast<int32_t>(static_cast<uint32_t>(power) << 23);
    float y;
    std::memcpy(&y, &bits, sizeof y);
    return x != x ? x : y;
}

inline float sigmoid(float x) { return 1 / (1 + exponential(-x)); }
inline float hyperbolic_tangent(float x) { return 2 * sigmoid(2 * x) - 1; }

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_X86 __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EVERY_X86
#endif

/* The order of argmax and top_k: NaN first, then the largest. */
inline bool before(float a, float b) { return a > b || (a != a && b == b); }

/* The largest of n numbers, or a NaN. */
FOR_EVERY_X86 float largest(const float *x, int64_t n) {
    float top[lane], unordered[lane] = {};
    for (int64_t j = 0; j < lane; j++) top[j] = x[0];
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) {
            top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
            unordered[j] = x[i + j] != x[i + j] ? x[i + j] : unordered[j];
        }
    }
    float y = x[0];
    for (; i < n; i++) y = before(x[i], y) ? x[i] : y;
    for (int64_t j = 0; j < lane; j++) {
        if (unordered[j] != 0) return unordered[j];
        y = before(top[j], y) ? top[j] : y;
    }
    return y;
}

int64_t first_largest(const float *x, int64_t n) {
    const float top = largest(x, n);
    return std::find_if(x, x + n, [top](float v) { return v == top || (v != v && top != top); }) - x;
}

FOR_EVERY_X86 void clamp(const float *x, int64_t n, float least, float most, float *y) {
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) {
            const float v = x[i + j] < least ? least : x[i + j];
            y[i + j] = v > most ? most : v;
        }
    }
    for (; i < n; i++) {
        const float v = x[i] < least ? least : x[i];
        y[i] = v > most ? most : v;
    }
}

FOR_EVERY_X86 void leak(const float *x, int64_t n, float slope, float *y) {
    int64_t i = 0;
    for (; i + lane <= n; i += lane) {
        for (int64_t j = 0; j < lane; j++) y[i + j] = x[i + j] > 0 ? x[i + j] : slope * x[i + j];
    }
    for (; i < n; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

/* Calls f with each row of dst, dense, and of src[0], whose rows are packed, and their length. */
template <class F>
void each_row(ggml_tensor *dst, int ith, int nth, F &&f) {
    const ggml_tensor *x = dst->src[0];
    const part all(x->ne[0] * rows_of(x), ith, nth);
    float *y = static_cast<float *>(dst->data);
    // Parts of rows, so that one long row is shared, too.
    for (int64_t at = all.begin; at < all.end;) {
        const int64_t row = at / x->ne[0], i = at % x->ne[0], n = std::min(x->ne[0] - i, all.end - at);
        const int64_t i1 = row % x->ne[1], i2 = row / x->ne[1] % x->ne[2], i3 = row / x->ne[1] / x->ne[2];
        const char *from = static_cast<const char *>(x->data) + i1 * x->nb[1] + i2 * x->nb[2] + i3 * x->nb[3];
        f(reinterpret_cast<const float *>(from) + i, n, y + at);
        at += n;
    }
}

/* Numbers of more than 4 bytes that go with an operator. */
template <class T>
T number_at(const int32_t *numbers) {
    T v;
    std::memcpy(&v, numbers, sizeof v);
    return v;
}

/* A lane of LSTM units: the sums of their gates i, f, g, o and their cells. */
struct lstm_lane {
    float gate[4][lane], cell[lane], hidden[lane];

    void add(const float (&summand)[4][lane]) {
        for (int g = 0; g < 4; g++) {
            for (int64_t j = 0; j < lane; j++) gate[g][j] += summand[g][j];
        }
    }
    FOR_EVERY_X86 void step();
};

void lstm_lane::step() {
    for (int64_t j = 0; j < lane; j++) {
        cell[j] = sigmoid(gate[1][j]) * cell[j] + sigmoid(gate[0][j]) * hyperbolic_tangent(gate[2][j]);
    }
    for (int64_t j = 0; j < lane; j++) hidden[j] = sigmoid(gate[3][j]) * hyperbolic_tangent(cell[j]);
}

}  // namespace

// ggml keeps what it needs of a custom operator at the front.
bool shim::runs(const ggml_tensor *t, kernel *k) {
    kernel *of_t;
    std::memcpy(&of_t, t->op_params, sizeof of_t);  // what ggml keeps first
    return of_t == k;
}

int32_t *shim::kernel_numbers(ggml_tensor *dst) {
    return dst->op_params + GGML_MAX_OP_PARAMS / sizeof(int32_t) - SHIM_NUMBERS;
}

void shim::concat_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const int axis = *kernel_numbers(dst);
    const size_t block = dst->nb[axis] * dst->ne[axis];
    int64_t outer = 1;
    for (int d = axis + 1; d < GGML_MAX_DIMS; d++) outer *= dst->ne[d];
    size_t offset = 0;
    for (int k = 0; k < GGML_MAX_SRC && dst->src[k] != nullptr; k++) {
        const size_t bytes = dst->src[k]->nb[axis] * dst->src[k]->ne[axis];
        const part p(static_cast<int64_t>(bytes), ith, nth);
        for (int64_t o = 0; o < outer; o++) {
            std::memcpy(static_cast<char *>(dst->data) + o * block + offset + p.begin,
                        static_cast<const char *>(dst->src[k]->data) + o * bytes + p.begin, p.end - p.begin);
        }
        offset += bytes;
    }
}

void shim::where_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const int64_t n = dst->ne[0];
    each_broadcast_row<3>(dst, ith, nth, [&](float *y, const char **at, const size_t *step) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = number(at[0] + i * step[0]) != 0 ? number(at[1] + i * step[1]) : number(at[2] + i * step[2]);
        }
    });
}

void shim::maximum_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    // A NaN on either side stays one, as in numpy.
    pick(dst, ith, nth, [](float a, float b) { return a > b || a != a ? a : b; });
}

void shim::minimum_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    pick(dst, ith, nth, [](float a, float b) { return a < b || a != a ? a : b; });
}

void shim::argmax_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const part rows(rows_of(x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * x->ne[0];
        static_cast<int32_t *>(dst->data)[r] = static_cast<int32_t>(first_largest(row, x->ne[0]));
    }
}

void shim::top_k_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const int64_t n = x->ne[0], k = dst->ne[0];
    const part rows(rows_of(x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * n;
        float *value = static_cast<float *>(dst->data) + r * k;
        int32_t *place = static_cast<int32_t *>(dst->data) + (rows_of(x) + r) * k;
        // The largest so far, sorted; most elements are below the last of them.
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++) {
            if (kept == k && !before(row[i], value[k - 1])) continue;
            const int64_t at = std::upper_bound(value, value + kept, row[i], before) - value;
            if (kept < k) kept++;
            std::copy_backward(value + at, value + kept - 1, value + kept);
            std::copy_backward(place + at, place + kept - 1, place + kept);
            value[at] = row[i];
            place[at] = static_cast<int32_t>(i);
        }
    }
}

void shim::row_max_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const part rows(rows_of(x), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *row = static_cast<const float *>(x->data) + r * x->ne[0];
        static_cast<float *>(dst->data)[r] = row[first_largest(row, x->ne[0])];
    }
}

void shim::pad_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const int32_t *before = kernel_numbers(dst);
    const part rows(rows_of(dst), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        float *y = static_cast<float *>(dst->data) + r * dst->ne[0];
        const int64_t i1 = r % dst->ne[1] - before[1], i2 = r / dst->ne[1] % dst->ne[2] - before[2],
                      i3 = r / dst->ne[1] / dst->ne[2] - before[3];
        if (i1 < 0 || i1 >= x->ne[1] || i2 < 0 || i2 >= x->ne[2] || i3 < 0 || i3 >= x->ne[3]) {
            std::memset(y, 0, dst->ne[0] * sizeof(float));
            continue;
        }
        const char *from = static_cast<const char *>(x->data) + i1 * x->nb[1] + i2 * x->nb[2] + i3 * x->nb[3];
        const int64_t behind = before[0] + x->ne[0];
        std::memset(y, 0, before[0] * sizeof(float));
        std::memcpy(y + before[0], from, x->ne[0] * sizeof(float));
        std::memset(y + behind, 0, (dst->ne[0] - behind) * sizeof(float));
    }
}

namespace {

/* A number in two halves, the low one first. */
int64_t whole(const int32_t *halves) {
    return static_cast<int64_t>(static_cast<uint64_t>(halves[1]) << 32 | static_cast<uint32_t>(halves[0]));
}

/* Copies n elements of a size, step bytes from one to the next. */
template <class T>
void copy_apart(void *to, const char *from, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; i++) std::memcpy(static_cast<T *>(to) + i, from + i * step, sizeof(T));
}

}  // namespace

void shim::slice_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const int32_t *p = kernel_numbers(dst);
    int64_t stride[GGML_MAX_DIMS];
    for (int d = 0; d < GGML_MAX_DIMS; d++) stride[d] = x->ne[d] == 1 ? 0 : static_cast<int64_t>(x->nb[d]);
    const char *first = static_cast<const char *>(x->data) + whole(p + 1) * stride[p[0]];
    stride[p[0]] *= whole(p + 3);
    const size_t size = gg.type_size(dst->type);
    const part rows(rows_of(dst), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const int64_t i1 = r % dst->ne[1], i2 = r / dst->ne[1] % dst->ne[2], i3 = r / dst->ne[1] / dst->ne[2];
        const char *from = first + i1 * stride[1] + i2 * stride[2] + i3 * stride[3];
        char *to = static_cast<char *>(dst->data) + r * dst->ne[0] * size;
        if (stride[0] == static_cast<int64_t>(size)) {
            std::memcpy(to, from, dst->ne[0] * size);
            continue;
        }
        switch (size) {
            case 1:
                copy_apart<uint8_t>(to, from, dst->ne[0], stride[0]);
                break;
            case 2:
                copy_apart<uint16_t>(to, from, dst->ne[0], stride[0]);
                break;
            case 4:
                copy_apart<uint32_t>(to, from, dst->ne[0], stride[0]);
                break;
            default:
                copy_apart<uint64_t>(to, from, dst->ne[0], stride[0]);
        }
    }
}

void shim::cast_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const part p(x->ne[0] * rows_of(x), ith, nth);
    switch (x->type) {
        case GGML_TYPE_F32:
            return convert_from<float>(x, dst, p);
        case GGML_TYPE_I8:
            return convert_from<int8_t>(x, dst, p);
        case GGML_TYPE_I16:
            return convert_from<int16_t>(x, dst, p);
        case GGML_TYPE_I32:
            return convert_from<int32_t>(x, dst, p);
        default:
            return convert_from<int64_t>(x, dst, p);
    }
}

shim::element_type shim::element_type_of(ggml_type type) {
    const ggml_type_traits *t = gg.get_type_traits(type);
    return {type, t->blck_size, t->type_size, t->to_float};
}

namespace {

/* Scratch memory, which ggml aligns less than vectors like. */
shim::scratch memory_of(const ggml_tensor *t) {
    const size_t behind = -reinterpret_cast<uintptr_t>(t->data) % 64;
    return {static_cast<char *>(t->data) + behind, int64_t(t->ne[0] - behind)};
}

const float *floats_of(const ggml_tensor *t) { return t != nullptr ? static_cast<const float *>(t->data) : nullptr; }

}  // namespace

shim::product shim::product_of(const ggml_tensor *x, const ggml_tensor *w, const ggml_tensor *bias, ggml_tensor *y) {
    product p;
    p.type = element_type_of(w->type);
    p.x = static_cast<const char *>(x->data);
    p.w = static_cast<const char *>(w->data);
    for (int d = 0; d < 3; d++) {
        p.x_bytes[d] = x->nb[d + 1];
        p.w_bytes[d] = w->nb[d + 1];
    }
    p.m = x->ne[1], p.n = w->ne[1], p.k = x->ne[0];
    p.batch2 = x->ne[2], p.batch = x->ne[2] * x->ne[3];
    p.repeat2 = x->ne[2] / w->ne[2], p.repeat3 = x->ne[3] / w->ne[3];
    p.bias = floats_of(bias);
    p.y = static_cast<float *>(y->data);
    p.memory = {nullptr, 0};
    p.measured = any_processor;
    return p;
}

void shim::product_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    product p = product_of(dst->src[0], dst->src[1], dst->src[3], dst);
    p.memory = memory_of(dst->src[2]);
    p.measured = processor(kernel_numbers(dst)[measured_number]);
    multiply(p, ith, nth);
}

void shim::conv_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0], *weight = dst->src[1];
    const int32_t *p = kernel_numbers(dst);
    conv c;
    c.x = floats_of(x);
    c.type = element_type_of(weight->type);
    c.weight = static_cast<const char *>(weight->data);
    c.bias = floats_of(dst->src[3]);
    c.y = static_cast<float *>(dst->data);
    c.memory = memory_of(dst->src[2]);
    c.measured = processor(p[measured_number]);
    c.channels_last = p[6] != 0;
    // Where the channels are: among ggml's axes columns, rows, channels the last or the first.
    const int channel = c.channels_last ? 0 : 2, column = c.channels_last ? 1 : 0, row = column + 1;
    c.n = x->ne[3], c.h = x->ne[row], c.w = x->ne[column];
    c.oc = weight->ne[3], c.ic = weight->ne[channel], c.kh = weight->ne[row], c.kw = weight->ne[column];
    c.groups = x->ne[channel] / c.ic;
    c.oh = dst->ne[row], c.ow = dst->ne[column];
    c.stride_h = p[0], c.stride_w = p[1], c.top = p[2], c.left = p[3], c.dilation_h = p[4], c.dilation_w = p[5];
    convolve(c, ith, nth);
}

void shim::clamp_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const int32_t *p = kernel_numbers(dst);
    const float least = number_at<float>(p), most = number_at<float>(p + 1);
    each_row(dst, ith, nth, [&](const float *x, int64_t n, float *y) { clamp(x, n, least, most, y); });
}

void shim::leaky_relu_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const float slope = number_at<float>(kernel_numbers(dst));
    each_row(dst, ith, nth, [&](const float *x, int64_t n, float *y) { leak(x, n, slope, y); });
}

void shim::cumsum_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0];
    const int axis = *kernel_numbers(dst);
    const int64_t n = x->ne[axis];
    int64_t step = 1;  // from one element along the axis to the next
    for (int d = 0; d < axis; d++) step *= x->ne[d];
    const float *from = static_cast<const float *>(x->data);
    float *to = static_cast<float *>(dst->data);
    // The lines along the axis; neighbours are summed side by side.
    const part lines(x->ne[0] * rows_of(x) / n, ith, nth);
    for (int64_t line = lines.begin; line < lines.end;) {
        const int64_t inner = line % step, side_by_side = std::min({lane, step - inner, lines.end - line});
        const int64_t first = line / step * n * step + inner;
        double sum[lane] = {};
        for (int64_t at = first; at < first + n * step; at += step) {
            for (int64_t j = 0; j < side_by_side; j++) {
                sum[j] += from[at + j];
                to[at + j] = static_cast<float>(sum[j]);
            }
        }
        line += side_by_side;
    }
}

void shim::norm_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const int32_t *p = kernel_numbers(dst);
    norm n;
    n.x = floats_of(dst->src[0]);
    n.y = static_cast<float *>(dst->data);
    n.eps = number_at<float>(p);
    n.centred = p[1] & 1;
    n.weight = p[1] & 2 ? floats_of(dst->src[1]) : nullptr;
    n.bias = p[1] & 4 ? floats_of(dst->src[n.weight != nullptr ? 2 : 1]) : nullptr;
    n.n = number_at<int64_t>(p + 2);
    n.repeat = number_at<int64_t>(p + 4);
    n.parameter_rows = number_at<int64_t>(p + 6);
    n.rows = dst->ne[0] * rows_of(dst) / n.n;
    normalise(n, ith, nth);
}

void shim::snake_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    apply_snake({floats_of(dst->src[0]), floats_of(dst->src[1]), floats_of(dst->src[2]),
                 static_cast<float *>(dst->data), rows_of(dst), dst->ne[0], dst->ne[1]},
                ith, nth);
}

void shim::rope_angles_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *positions = dst->src[0];
    rope_angles a;
    a.positions = static_cast<const char *>(positions->data);
    a.wide = positions->type == GGML_TYPE_I64;
    a.frequencies = floats_of(dst->src[1]);
    a.y = static_cast<float *>(dst->data);
    a.interleaved = *kernel_numbers(dst) != 0;
    a.t = dst->ne[2], a.half = a.interleaved ? dst->ne[0] / 2 : dst->ne[0];
    find_angles(a, ith, nth);
}

void shim::rope_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *x = dst->src[0], *angles = dst->src[1];
    rope r;
    r.x = static_cast<const char *>(x->data);
    r.x_head = x->nb[1], r.x_row = x->nb[2];
    r.angles = floats_of(angles);
    r.y = static_cast<float *>(dst->data);
    r.d = x->ne[0], r.heads = x->ne[1], r.t = x->ne[2];
    r.interleaved = *kernel_numbers(dst) != 0;
    r.half = r.interleaved ? angles->ne[0] / 2 : angles->ne[0];
    rotate(r, ith, nth);
}

void shim::attention_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[3];
    const int32_t *p = kernel_numbers(dst);
    attention a;
    a.k_type = k->type, a.v_type = v->type;
    a.q = static_cast<const char *>(q->data), a.q_head = q->nb[1], a.q_row = q->nb[2];
    a.k = static_cast<const char *>(k->data), a.k_head = k->nb[1], a.k_row = k->nb[2];
    a.v = static_cast<const char *>(v->data), a.v_head = v->nb[1], a.v_row = v->nb[2];
    a.d = q->ne[0], a.heads = q->ne[1], a.t = q->ne[2];
    a.dv = v->ne[0], a.kv_heads = v->ne[1], a.n = v->ne[2];
    a.scale = number_at<float>(p);
    a.causal = p[1] != 0;
    a.window = number_at<int64_t>(p + 2);
    const ggml_tensor *mask = p[4] != 0 ? dst->src[4] : nullptr;
    const ggml_tensor *positions = p[5] != 0 ? dst->src[mask != nullptr ? 5 : 4] : nullptr;
    a.mask = floats_of(mask);
    a.mask_row = mask != nullptr ? mask->nb[1] : 0;
    a.positions = positions != nullptr ? static_cast<const int32_t *>(positions->data) : nullptr;
    a.chunk = attention_chunk(a.t, a.heads, a.kv_heads, a.n);
    a.y = static_cast<float *>(dst->data);
    a.memory = memory_of(dst->src[2]);
    attend(a, ith, nth);
}

void shim::combine_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *parts = dst->src[0];
    const int64_t dv = parts->ne[0] - 2;
    combine(floats_of(parts), parts->ne[2], parts->ne[1], dv, static_cast<float *>(dst->data), ith, nth);
}

void shim::lstm_kernel(ggml_tensor *dst, int ith, int nth, void *) {
    const ggml_tensor *cell = dst->src[2];
    const int64_t hidden = cell->ne[0], n = cell->ne[1];
    // Whole lanes for each thread, the last one maybe in part.
    const part groups((hidden + lane - 1) / lane, ith, nth);
    const int summands[] = {0, 1, 3, 4};
    for (int64_t row = 0; row < n; row++) {
        const float *c = static_cast<const float *>(cell->data) + row * hidden;
        float *h_next = static_cast<float *>(dst->data) + row * hidden, *c_next = h_next + n * hidden;
        for (int64_t i = groups.begin * lane; i < std::min(groups.end * lane, hidden); i += lane) {
            const size_t bytes = std::min<int64_t>(lane, hidden - i) * sizeof(float);
            lstm_lane x = {};
            std::memcpy(x.cell, c + i, bytes);
            for (const int k : summands) {
                if (dst->src[k] == nullptr) continue;
                // The biases are the same for every row.
                const float *from = static_cast<const float *>(dst->src[k]->data) + (k < 2 ? row * 4 * hidden : 0);
                float summand[4][lane] = {};
                for (int g = 0; g < 4; g++) std::memcpy(summand[g], from + g * hidden + i, bytes);
                x.add(summand);
            }
            x.step();
            std::memcpy(c_next + i, x.cell, bytes);
            std::memcpy(h_next + i, x.hidden, bytes);
        }
    }
}
