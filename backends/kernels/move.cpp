/* Kernels that move elements and compute nothing. */
#include "kernel.h"

namespace kernels {

namespace {

/* Copies n elements of a size, step bytes from one to the next. */
template <class T>
void copy_apart(void *to, const char *from, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; i++) std::memcpy(static_cast<T *>(to) + i, from + i * step, sizeof(T));
}

/* Dense inputs, one behind the other along axis number 0. */
void run_concat(const call *c, int32_t ith, int32_t nth) {
    const int axis = *c->numbers;
    const size_t block = c->out.nb[axis] * c->out.ne[axis];
    int64_t outer = 1;
    for (int d = axis + 1; d < 4; d++) outer *= c->out.ne[d];
    size_t offset = 0;
    for (int k = 0; k < c->inputs; k++) {
        const size_t bytes = c->in[k].nb[axis] * c->in[k].ne[axis];
        const part p(static_cast<int64_t>(bytes), ith, nth);
        for (int64_t o = 0; o < outer; o++) {
            std::memcpy(static_cast<char *>(c->out.data) + o * block + offset + p.begin,
                        static_cast<const char *>(c->in[k].data) + o * bytes + p.begin, p.end - p.begin);
        }
        offset += bytes;
    }
}

/* f32 with packed rows: number d zeros before it along axis d, zeros behind it. */
void run_pad(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const int32_t *before = c->numbers;
    const part rows(rows_of(c->out), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        float *y = static_cast<float *>(c->out.data) + r * c->out.ne[0];
        const int64_t i1 = r % c->out.ne[1] - before[1], i2 = r / c->out.ne[1] % c->out.ne[2] - before[2],
                      i3 = r / c->out.ne[1] / c->out.ne[2] - before[3];
        if (i1 < 0 || i1 >= x->ne[1] || i2 < 0 || i2 >= x->ne[2] || i3 < 0 || i3 >= x->ne[3]) {
            std::memset(y, 0, c->out.ne[0] * sizeof(float));
            continue;
        }
        const char *from = static_cast<const char *>(x->data) + i1 * x->nb[1] + i2 * x->nb[2] + i3 * x->nb[3];
        const int64_t behind = before[0] + x->ne[0];
        std::memset(y, 0, before[0] * sizeof(float));
        std::memcpy(y + before[0], from, x->ne[0] * sizeof(float));
        std::memset(y + behind, 0, (c->out.ne[0] - behind) * sizeof(float));
    }
}

/* Any strides. Numbers: the axis; in halves the first element, and the step. */
void run_slice(const call *c, int32_t ith, int32_t nth) {
    const tensor *x = &c->in[0];
    const int32_t *p = c->numbers;
    int64_t stride[4];
    for (int d = 0; d < 4; d++) stride[d] = x->ne[d] == 1 ? 0 : static_cast<int64_t>(x->nb[d]);
    const char *first = static_cast<const char *>(x->data) + number_at<int64_t>(p + 1) * stride[p[0]];
    stride[p[0]] *= number_at<int64_t>(p + 3);
    const size_t size = c->out.type->block_bytes;
    const part rows(rows_of(c->out), ith, nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const int64_t i1 = r % c->out.ne[1], i2 = r / c->out.ne[1] % c->out.ne[2], i3 = r / c->out.ne[1] / c->out.ne[2];
        const char *from = first + i1 * stride[1] + i2 * stride[2] + i3 * stride[3];
        char *to = static_cast<char *>(c->out.data) + r * c->out.ne[0] * size;
        if (stride[0] == static_cast<int64_t>(size)) {
            std::memcpy(to, from, c->out.ne[0] * size);
            continue;
        }
        switch (size) {
            case 1:
                copy_apart<uint8_t>(to, from, c->out.ne[0], stride[0]);
                break;
            case 2:
                copy_apart<uint16_t>(to, from, c->out.ne[0], stride[0]);
                break;
            case 4:
                copy_apart<uint32_t>(to, from, c->out.ne[0], stride[0]);
                break;
            default:
                copy_apart<uint64_t>(to, from, c->out.ne[0], stride[0]);
        }
    }
}

const kernel concat_entry("concat", run_concat);
const kernel pad_entry("pad", run_pad);
const kernel slice_entry("slice", run_slice);

}  // namespace

}  // namespace kernels
