// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.
// clang-format off
//
// The second half of qtsaccel.hpp, which includes it. An operator is a function
// that takes tensors, then what must be given, then optional tensors, then its
// other attributes:
//
//     auto y = ops::conv1d(x, weight, bias, ops::conv1d_attrs().stride({2}).padding({1}));
#ifndef QTSACCEL_OPS_HPP
#define QTSACCEL_OPS_HPP

#ifndef QTSACCEL_HPP
#error "include qtsaccel.hpp, of which this is a part"
#endif

namespace qtsa {
namespace ops {

/** |x|, element by element. */
inline tensor abs(tensor x) {
    attributes attrs;
    return detail::add_op<1>("abs", {x}, attrs)[0];
}

/** a + b, element by element with numpy's broadcasting. */
inline tensor add(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("add", {a, b}, attrs)[0];
}

class arange_attrs : public attributes {
public:
    /** the first (finite in f32 or infinite or NaN). */
    arange_attrs &start(double v) { set("start", v); return *this; }
    /** from one to the next (finite in f32). */
    arange_attrs &step(double v) { set("step", v); return *this; }
};

/** start, start + step, start + 2 step, ...: count numbers. */
/** count: how many (1 or more). */
inline tensor arange(graph &to, size_arg count, arange_attrs attrs = {}) {
    attrs.set("count", count);
    return detail::add_op<1>(to, "arange", {}, attrs)[0];
}

class argmax_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    argmax_attrs &axis(size_arg v) { set("axis", v); return *this; }
};

/** where the first NaN along an axis is, else the largest element, the first of equals; the result lacks the axis. */
inline tensor argmax(tensor x, argmax_attrs attrs = {}) {
    return detail::add_op<1>("argmax", {x}, attrs)[0];
}

class attention_attrs : public attributes {
public:
    /** the factor of the scores; 0: 1/sqrt(d) (finite in f32). */
    attention_attrs &scale(double v) { set("scale", v); return *this; }
    /** 1: the queries are the last t of the n positions (0 to 1). */
    attention_attrs &causal(size_arg v) { set("causal", v); return *this; }
    /** how many keys up to its own position a query sees; 0: all. Needs positions or causal (0 or more). */
    attention_attrs &window(size_arg v) { set("window", v); return *this; }
};

/** softmax(scale * q k^T + mask) v per head; head h reads key head h / (heads / kv_heads). Visible to query j are all keys; with positions or causal, the keys i <= p_j, where p_j is positions[j] or, with causal, n - t + j; with window w of those, the keys i > p_j - w. What is not visible does not count, whatever it holds. A query whose scores are all minus infinity, as where the mask leaves it no key, gives zeros. */
inline tensor attention(tensor q, tensor k, tensor v, tensor mask = {}, tensor positions = {}, attention_attrs attrs = {}) {
    return detail::add_op<1>("attention", {q, k, v, mask, positions}, attrs)[0];
}

/** x in another dtype: to a 16-bit float rounded to nearest even, from float to integer cut towards 0, to the least or greatest integer where it lies beyond, NaN to 0; from integer to a shorter one the low bits. */
/** dtype: the dtype ("f32", "f16", "bf16", "i8", "i16", "i32", "i64"). */
inline tensor cast(tensor x, const char * dtype) {
    attributes attrs;
    attrs.set("dtype", dtype);
    return detail::add_op<1>("cast", {x}, attrs)[0];
}

/** x, but at least min and at most max. */
/** min: the least value (finite in f32 or infinite). */
/** max: the greatest value, not below min (finite in f32 or infinite). */
inline tensor clamp(tensor x, double min, double max) {
    attributes attrs;
    attrs.set("min", min);
    attrs.set("max", max);
    return detail::add_op<1>("clamp", {x}, attrs)[0];
}

/** the inputs one behind the other along an axis. */
/** axis: the axis; negative counts from the end (-4 to 3). */
inline tensor concat(std::initializer_list<tensor> x, size_arg axis) {
    attributes attrs;
    attrs.set("axis", axis);
    return detail::add_op<1>("concat", x, attrs)[0];
}

class conv1d_attrs : public attributes {
public:
    /** input elements from one output to the next (1 to 2147483647). */
    conv1d_attrs &stride(size_arg v) { set("stride", v); return *this; }
    /** zeros put at both ends, or at the left and the right one (0 to 2147483647). */
    conv1d_attrs &padding(const sizes & v) { set("padding", v); return *this; }
    /** input elements from one kernel element to the next (1 to 2147483647). */
    conv1d_attrs &dilation(size_arg v) { set("dilation", v); return *this; }
    /** into how many groups the channels fall; each output channel reads one (1 to 2147483647). */
    conv1d_attrs &groups(size_arg v) { set("groups", v); return *this; }
};

/** out[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] * x[n, c, i*stride + k*dilation - padding], c within o's group, x zero beyond its ends. */
inline tensor conv1d(tensor x, tensor weight, tensor bias = {}, conv1d_attrs attrs = {}) {
    return detail::add_op<1>("conv1d", {x, weight, bias}, attrs)[0];
}

class conv2d_attrs : public attributes {
public:
    /** input elements from one output to the next: one value, or for h and w (1 to 2147483647). */
    conv2d_attrs &stride(const sizes & v) { set("stride", v); return *this; }
    /** zeros put on all sides; above and below, left and right; or top, left, bottom, right (0 to 2147483647). */
    conv2d_attrs &padding(const sizes & v) { set("padding", v); return *this; }
    /** input elements from one kernel element to the next: one value, or for h and w (1 to 2147483647). */
    conv2d_attrs &dilation(const sizes & v) { set("dilation", v); return *this; }
    /** into how many groups the channels fall; each output channel reads one (1 to 2147483647). */
    conv2d_attrs &groups(size_arg v) { set("groups", v); return *this; }
};

/** out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[n, c, i*stride + k*dilation - padding, j*stride + l*dilation - padding], c within o's group, x zero beyond its edges. */
inline tensor conv2d(tensor x, tensor weight, tensor bias = {}, conv2d_attrs attrs = {}) {
    return detail::add_op<1>("conv2d", {x, weight, bias}, attrs)[0];
}

class conv_transpose1d_attrs : public attributes {
public:
    /** output elements from one input to the next (1 to 2147483647). */
    conv_transpose1d_attrs &stride(size_arg v) { set("stride", v); return *this; }
    /** how many outputs are cut off at both ends, or at the left and the right one (0 to 2147483647). */
    conv_transpose1d_attrs &padding(const sizes & v) { set("padding", v); return *this; }
    /** how many outputs more there are at the right end, less than stride or dilation (0 to 2147483647). */
    conv_transpose1d_attrs &output_padding(size_arg v) { set("output_padding", v); return *this; }
    /** output elements from one kernel element to the next (1 to 2147483647). */
    conv_transpose1d_attrs &dilation(size_arg v) { set("dilation", v); return *this; }
    /** into how many groups the channels fall (1 to 2147483647). */
    conv_transpose1d_attrs &groups(size_arg v) { set("groups", v); return *this; }
};

/** each x[n, c, i] adds weight[c, o, k] * x[n, c, i] to out[n, o, i*stride + k*dilation - padding], o within c's group; then the bias. */
inline tensor conv_transpose1d(tensor x, tensor weight, tensor bias = {}, conv_transpose1d_attrs attrs = {}) {
    return detail::add_op<1>("conv_transpose1d", {x, weight, bias}, attrs)[0];
}

/** cos(x), x in radians, element by element. */
inline tensor cos(tensor x) {
    attributes attrs;
    return detail::add_op<1>("cos", {x}, attrs)[0];
}

class cumsum_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    cumsum_attrs &axis(size_arg v) { set("axis", v); return *this; }
};

/** the sums of the elements up to each one, along an axis. */
inline tensor cumsum(tensor x, cumsum_attrs attrs = {}) {
    return detail::add_op<1>("cumsum", {x}, attrs)[0];
}

class depth_to_space_attrs : public attributes {
public:
    /** whether the block's place is the inner part of the channel or the outer ("CRD", "DCR"). */
    depth_to_space_attrs &mode(const char * v) { set("mode", v); return *this; }
};

/** channels rearranged into blocks of an image: with mode "CRD" out[n, c, i*block + k, j*block + l] = x[n, (c*block + k)*block + l, i, j], with "DCR" the channel is (k*block + l)*channels + c. */
/** block: the length of a block's edge (1 to 65536). */
inline tensor depth_to_space(tensor x, size_arg block, depth_to_space_attrs attrs = {}) {
    attrs.set("block", block);
    return detail::add_op<1>("depth_to_space", {x}, attrs)[0];
}

/** a / b, element by element with numpy's broadcasting. */
inline tensor div(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("div", {a, b}, attrs)[0];
}

class elu_attrs : public attributes {
public:
    /** minus the limit at minus infinity (finite in f32). */
    elu_attrs &alpha(double v) { set("alpha", v); return *this; }
};

/** x where x > 0, else alpha * (exp(x) - 1). */
inline tensor elu(tensor x, elu_attrs attrs = {}) {
    return detail::add_op<1>("elu", {x}, attrs)[0];
}

/** the rows of weight that ids name. */
inline tensor embedding(tensor weight, tensor ids) {
    attributes attrs;
    return detail::add_op<1>("embedding", {weight, ids}, attrs)[0];
}

/** e^x, element by element. */
inline tensor exp(tensor x) {
    attributes attrs;
    return detail::add_op<1>("exp", {x}, attrs)[0];
}

/** x stretched to a shape as in numpy's broadcasting. */
/** shape: the result's shape (1 or more). */
inline tensor expand(tensor x, const sizes & shape) {
    attributes attrs;
    attrs.set("shape", shape);
    return detail::add_op<1>("expand", {x}, attrs)[0];
}

class gelu_attrs : public attributes {
public:
    /** whether the error function or its approximation by tanh is used ("none", "tanh"). */
    gelu_attrs &approximate(const char * v) { set("approximate", v); return *this; }
};

/** x * Phi(x), Phi the normal distribution: x/2 * (1 + erf(x/sqrt(2))), or with approximate = "tanh" x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))). */
inline tensor gelu(tensor x, gelu_attrs attrs = {}) {
    return detail::add_op<1>("gelu", {x}, attrs)[0];
}

class glu_attrs : public attributes {
public:
    /** the axis that is halved; negative counts from the end (-4 to 3). */
    glu_attrs &axis(size_arg v) { set("axis", v); return *this; }
};

/** a * sigmoid(b), a and b the two halves of x along an axis. */
inline tensor glu(tensor x, glu_attrs attrs = {}) {
    return detail::add_op<1>("glu", {x}, attrs)[0];
}

class group_norm_attrs : public attributes {
public:
    /** added to the variance (0 or more, finite in f32). */
    group_norm_attrs &eps(double v) { set("eps", v); return *this; }
};

/** layer_norm over groups of channels and all positions, then * weight + bias per channel. */
/** groups: how many groups the channels (axis 1) form, in order (1 to 2147483647). */
inline tensor group_norm(tensor x, size_arg groups, tensor weight = {}, tensor bias = {}, group_norm_attrs attrs = {}) {
    attrs.set("groups", groups);
    return detail::add_op<1>("group_norm", {x, weight, bias}, attrs)[0];
}

class layer_norm_attrs : public attributes {
public:
    /** added to the variance (0 or more, finite in f32). */
    layer_norm_attrs &eps(double v) { set("eps", v); return *this; }
};

/** (x - mean) / sqrt(var + eps) * weight + bias over the last axis; var is the mean squared distance from the mean. */
inline tensor layer_norm(tensor x, tensor weight = {}, tensor bias = {}, layer_norm_attrs attrs = {}) {
    return detail::add_op<1>("layer_norm", {x, weight, bias}, attrs)[0];
}

class leaky_relu_attrs : public attributes {
public:
    /** the slope below 0 (finite in f32). */
    leaky_relu_attrs &negative_slope(double v) { set("negative_slope", v); return *this; }
};

/** x where x > 0, else negative_slope * x. */
inline tensor leaky_relu(tensor x, leaky_relu_attrs attrs = {}) {
    return detail::add_op<1>("leaky_relu", {x}, attrs)[0];
}

/** x W^T + bias: each row of x times the rows of the weight. */
inline tensor linear(tensor x, tensor weight, tensor bias = {}) {
    attributes attrs;
    return detail::add_op<1>("linear", {x, weight, bias}, attrs)[0];
}

/** the natural logarithm of x, element by element. */
inline tensor log(tensor x) {
    attributes attrs;
    return detail::add_op<1>("log", {x}, attrs)[0];
}

class log_softmax_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    log_softmax_attrs &axis(size_arg v) { set("axis", v); return *this; }
};

/** x - max - log(sum(exp(x - max))) along an axis. */
inline tensor log_softmax(tensor x, log_softmax_attrs attrs = {}) {
    return detail::add_op<1>("log_softmax", {x}, attrs)[0];
}

/** one step of an LSTM: with [i, f, g, o] = weight_ih x + bias_ih + weight_hh h + bias_hh, c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c'). */
inline std::array<tensor, 2> lstm_cell(tensor x, tensor h, tensor c, tensor weight_ih, tensor weight_hh, tensor bias_ih = {}, tensor bias_hh = {}) {
    attributes attrs;
    return detail::add_op<2>("lstm_cell", {x, h, c, weight_ih, weight_hh, bias_ih, bias_hh}, attrs);
}

/** a b, the matrix product of the last two axes; the axes before them broadcast as in numpy. */
inline tensor matmul(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("matmul", {a, b}, attrs)[0];
}

/** the larger of a and b, NaN where either is, element by element with numpy's broadcasting. */
inline tensor maximum(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("maximum", {a, b}, attrs)[0];
}

/** the smaller of a and b, NaN where either is, element by element with numpy's broadcasting. */
inline tensor minimum(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("minimum", {a, b}, attrs)[0];
}

/** a * b, element by element with numpy's broadcasting. */
inline tensor mul(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("mul", {a, b}, attrs)[0];
}

/** -x, element by element. */
inline tensor neg(tensor x) {
    attributes attrs;
    return detail::add_op<1>("neg", {x}, attrs)[0];
}

class pad_attrs : public attributes {
public:
    /** what is put there ("constant", "reflect"). */
    pad_attrs &mode(const char * v) { set("mode", v); return *this; }
    /** the constant (finite in f32 or infinite or NaN). */
    pad_attrs &value(double v) { set("value", v); return *this; }
};

/** x with elements put before and behind along each axis: a value, or with mode "reflect" x's own, mirrored at its outermost ones. */
/** pads: how many before each axis, then how many behind each (0 to 1099511627776). */
inline tensor pad(tensor x, const sizes & pads, pad_attrs attrs = {}) {
    attrs.set("pads", pads);
    return detail::add_op<1>("pad", {x}, attrs)[0];
}

class reduce_max_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    reduce_max_attrs &axis(size_arg v) { set("axis", v); return *this; }
    /** 1: the axis stays, with length 1; 0: it goes (0 to 1). */
    reduce_max_attrs &keepdims(size_arg v) { set("keepdims", v); return *this; }
};

/** the largest element along an axis, NaN where there is one. */
inline tensor reduce_max(tensor x, reduce_max_attrs attrs = {}) {
    return detail::add_op<1>("reduce_max", {x}, attrs)[0];
}

class reduce_mean_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    reduce_mean_attrs &axis(size_arg v) { set("axis", v); return *this; }
    /** 1: the axis stays, with length 1; 0: it goes (0 to 1). */
    reduce_mean_attrs &keepdims(size_arg v) { set("keepdims", v); return *this; }
};

/** the mean along an axis. */
inline tensor reduce_mean(tensor x, reduce_mean_attrs attrs = {}) {
    return detail::add_op<1>("reduce_mean", {x}, attrs)[0];
}

class reduce_sum_attrs : public attributes {
public:
    /** the axis; negative counts from the end (-4 to 3). */
    reduce_sum_attrs &axis(size_arg v) { set("axis", v); return *this; }
    /** 1: the axis stays, with length 1; 0: it goes (0 to 1). */
    reduce_sum_attrs &keepdims(size_arg v) { set("keepdims", v); return *this; }
};

/** the sum along an axis. */
inline tensor reduce_sum(tensor x, reduce_sum_attrs attrs = {}) {
    return detail::add_op<1>("reduce_sum", {x}, attrs)[0];
}

/** max(x, 0), element by element. */
inline tensor relu(tensor x) {
    attributes attrs;
    return detail::add_op<1>("relu", {x}, attrs)[0];
}

/** the same elements in another shape, in row-major order. */
/** shape: the new shape; one dimension may be -1 for what is left over (-1 or more). */
inline tensor reshape(tensor x, const sizes & shape) {
    attributes attrs;
    attrs.set("shape", shape);
    return detail::add_op<1>("reshape", {x}, attrs)[0];
}

class rms_norm_attrs : public attributes {
public:
    /** added to the mean square (0 or more, finite in f32). */
    rms_norm_attrs &eps(double v) { set("eps", v); return *this; }
};

/** x / sqrt(mean(x^2) + eps) * weight over the last axis. */
inline tensor rms_norm(tensor x, tensor weight = {}, rms_norm_attrs attrs = {}) {
    return detail::add_op<1>("rms_norm", {x, weight}, attrs)[0];
}

class rope_attrs : public attributes {
public:
    /** the base of the frequencies (1.1754943508222875e-38 or more, finite in f32). */
    rope_attrs &base(double v) { set("base", v); return *this; }
    /** which elements pair up ("half", "interleaved"). */
    rope_attrs &mode(const char * v) { set("mode", v); return *this; }
    /** how many elements of each head turn, even; 0: all (0 to 2147483647). */
    rope_attrs &dims(size_arg v) { set("dims", v); return *this; }
    /** what positions are multiplied by (finite in f32). */
    rope_attrs &scale(double v) { set("scale", v); return *this; }
};

/** rotary position embedding: of each head's first dims elements the pairs (a, b) become (a cos t - b sin t, b cos t + a sin t), t = position * scale * base^(-2i/dims) for pair i; mode "half" pairs i with i + dims/2, "interleaved" 2i with 2i+1. */
inline tensor rope(tensor x, tensor positions, rope_attrs attrs = {}) {
    return detail::add_op<1>("rope", {x, positions}, attrs)[0];
}

class scale_attrs : public attributes {
public:
    /** the factor (finite in f32 or infinite or NaN). */
    scale_attrs &scale(double v) { set("scale", v); return *this; }
    /** what is added after (finite in f32 or infinite or NaN). */
    scale_attrs &bias(double v) { set("bias", v); return *this; }
};

/** x * scale + bias. */
inline tensor scale(tensor x, scale_attrs attrs = {}) {
    return detail::add_op<1>("scale", {x}, attrs)[0];
}

/** 1 / (1 + exp(-x)), element by element. */
inline tensor sigmoid(tensor x) {
    attributes attrs;
    return detail::add_op<1>("sigmoid", {x}, attrs)[0];
}

/** x * sigmoid(x), also called swish, element by element. */
inline tensor silu(tensor x) {
    attributes attrs;
    return detail::add_op<1>("silu", {x}, attrs)[0];
}

/** sin(x), x in radians, element by element. */
inline tensor sin(tensor x) {
    attributes attrs;
    return detail::add_op<1>("sin", {x}, attrs)[0];
}

class slice_attrs : public attributes {
public:
    /** the first element. */
    slice_attrs &start(size_arg v) { set("start", v); return *this; }
    /** where it ends; with step < 0, an end further from the axis' end than its length goes through to the first element. */
    slice_attrs &end(size_arg v) { set("end", v); return *this; }
    /** from one element to the next, not 0. */
    slice_attrs &step(size_arg v) { set("step", v); return *this; }
};

/** along an axis the elements start, start + step, ... before end (step < 0: down to but without end); negative start and end count from the axis' end, beyond it they are clamped. */
/** axis: the axis; negative counts from the end (-4 to 3). */
inline tensor slice(tensor x, size_arg axis, slice_attrs attrs = {}) {
    attrs.set("axis", axis);
    return detail::add_op<1>("slice", {x}, attrs)[0];
}

/** x + sin(alpha x)^2 / beta, alpha and beta per channel (axis 1). */
inline tensor snake(tensor x, tensor alpha, tensor beta) {
    attributes attrs;
    return detail::add_op<1>("snake", {x, alpha, beta}, attrs)[0];
}

class softmax_attrs : public attributes {
public:
    /** the axis that comes to 1; negative counts from the end (-4 to 3). */
    softmax_attrs &axis(size_arg v) { set("axis", v); return *this; }
};

/** exp(x) / sum(exp(x)) along an axis. */
inline tensor softmax(tensor x, softmax_attrs attrs = {}) {
    return detail::add_op<1>("softmax", {x}, attrs)[0];
}

/** log(1 + exp(x)), element by element. */
inline tensor softplus(tensor x) {
    attributes attrs;
    return detail::add_op<1>("softplus", {x}, attrs)[0];
}

/** the square root of x, element by element. */
inline tensor sqrt(tensor x) {
    attributes attrs;
    return detail::add_op<1>("sqrt", {x}, attrs)[0];
}

/** x^2, element by element. */
inline tensor square(tensor x) {
    attributes attrs;
    return detail::add_op<1>("square", {x}, attrs)[0];
}

/** the state with its row positions[i] replaced by values[i], rounded to its dtype; without positions, all of it replaced. A position given twice gets either row. */
inline tensor state_write(tensor state, tensor values, tensor positions = {}) {
    attributes attrs;
    return detail::add_op<1>("state_write", {state, values, positions}, attrs)[0];
}

/** 1 where x > 0, else 0, element by element. */
inline tensor step(tensor x) {
    attributes attrs;
    return detail::add_op<1>("step", {x}, attrs)[0];
}

/** a - b, element by element with numpy's broadcasting. */
inline tensor sub(tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("sub", {a, b}, attrs)[0];
}

/** silu(gate) * up. */
inline tensor swiglu(tensor gate, tensor up) {
    attributes attrs;
    return detail::add_op<1>("swiglu", {gate, up}, attrs)[0];
}

/** tanh(x), element by element. */
inline tensor tanh(tensor x) {
    attributes attrs;
    return detail::add_op<1>("tanh", {x}, attrs)[0];
}

/** the k largest elements of each row, NaN before all, then the largest first, and where they are; the first of equals comes first. */
/** k: how many, at most the row's length (1 or more). */
inline std::array<tensor, 2> top_k(tensor x, size_arg k) {
    attributes attrs;
    attrs.set("k", k);
    return detail::add_op<2>("top_k", {x}, attrs);
}

/** the axes in another order: axis i of the result is axis axes[i] of x. */
/** axes: a permutation of the axes; negative counts from the end (-4 to 3). */
inline tensor transpose(tensor x, const sizes & axes) {
    attributes attrs;
    attrs.set("axes", axes);
    return detail::add_op<1>("transpose", {x}, attrs)[0];
}

class upsample_attrs : public attributes {
public:
    /** the factor, 1 or more: one value, or for h and w (1 to 65536). */
    upsample_attrs &scale(const sizes & v) { set("scale", v); return *this; }
    /** which elements are taken ("nearest"). */
    upsample_attrs &mode(const char * v) { set("mode", v); return *this; }
};

/** an image made larger: out[n, c, i, j] = x[n, c, floor(i / scale_h), floor(j / scale_w)]. */
inline tensor upsample(tensor x, upsample_attrs attrs = {}) {
    return detail::add_op<1>("upsample", {x}, attrs)[0];
}

/** a where condition is not 0 (NaN is not), else b, with numpy's broadcasting. */
inline tensor where(tensor condition, tensor a, tensor b) {
    attributes attrs;
    return detail::add_op<1>("where", {condition, a, b}, attrs)[0];
}

} // namespace ops
} // namespace qtsa

#endif
