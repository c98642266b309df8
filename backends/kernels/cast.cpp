/* Between f32 and the integers. */
#include "kernel.h"

#include <limits>
#include <type_traits>

namespace kernels {

namespace {

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
void convert_from(const tensor &x, const tensor &y, part p) {
    switch (y.type->is) {
        case F32:
            return convert<From, float>(x.data, y.data, p);
        case I8:
            return convert<From, int8_t>(x.data, y.data, p);
        case I16:
            return convert<From, int16_t>(x.data, y.data, p);
        case I32:
            return convert<From, int32_t>(x.data, y.data, p);
        default:
            return convert<From, int64_t>(x.data, y.data, p);
    }
}

/* Dense. */
void run_cast(const call *c, int32_t ith, int32_t nth) {
    const tensor &x = c->in[0];
    const part p(x.ne[0] * rows_of(x), ith, nth);
    switch (x.type->is) {
        case F32:
            return convert_from<float>(x, c->out, p);
        case I8:
            return convert_from<int8_t>(x, c->out, p);
        case I16:
            return convert_from<int16_t>(x, c->out, p);
        case I32:
            return convert_from<int32_t>(x, c->out, p);
        default:
            return convert_from<int64_t>(x, c->out, p);
    }
}

const kernel entry("cast", run_cast);

}  // namespace

}  // namespace kernels
