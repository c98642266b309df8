#include "product_check.h"

namespace {

using shim::range;

/*
 * By the type to which ggml converts x. Between the bounds an element is off by no more
 * than the format's rounding of the row's largest one:
 *
 * f16: from its least normal number to its largest one.
 *
 * Blocks of 8 bits with the largest element / 127 in f16: above 2^-10 that scale, where
 * it is no normal number, is off by 2^-8 of itself at most, as a level is of 127.
 *
 * Blocks of 8 bits with 127 / the largest element in f32, which must be finite.
 *
 * bf16 and others with the exponents of f32 take all numbers. What overflows where its
 * neighbours do not, and sums of a block in f16, make a result that is not finite, which
 * is found by that.
 */
range range_of(ggml_type x) {
    constexpr float largest_f16 = 65504;
    switch (x) {
        case GGML_TYPE_F16:
            return {0x1p-14f, largest_f16};
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_Q8_1:
            return {0x1p-10f, 127 * largest_f16};
        case GGML_TYPE_Q8_K:
            return {0x1p-116f, 0x1.fffffep127f};
        case GGML_TYPE_BF16:
        case GGML_TYPE_F32:
            return {0, 0x1.fffffep127f};
        default:  // of a ggml to come
            return {0x1p-10f, largest_f16};
    }
}

}  // namespace

shim::range shim::range_of_product(ggml_type weight) { return range_of(gg.get_type_traits_cpu(weight)->vec_dot_type); }
