# Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.
"""The operators: each takes tensors of a graph, or arrays as constants, and adds itself.

docs/operators.md has the table with dtypes, ranks and sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._dim import Size
from ._graph import Graph, Operand, Tensor, add_op

__all__ = [
    "abs",
    "add",
    "arange",
    "argmax",
    "attention",
    "cast",
    "clamp",
    "concat",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "cos",
    "cumsum",
    "depth_to_space",
    "div",
    "elu",
    "embedding",
    "exp",
    "expand",
    "gelu",
    "glu",
    "group_norm",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log",
    "log_softmax",
    "lstm_cell",
    "matmul",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "pad",
    "reduce_max",
    "reduce_mean",
    "reduce_sum",
    "relu",
    "reshape",
    "rms_norm",
    "rope",
    "scale",
    "sigmoid",
    "silu",
    "sin",
    "slice",
    "snake",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "state_write",
    "step",
    "sub",
    "swiglu",
    "tanh",
    "top_k",
    "transpose",
    "upsample",
    "where",
]


def abs(x: Operand) -> Tensor:
    r"""|x|, element by element.

    x: f32
    """
    return add_op(None, "abs", (x,), (), 1)[0]


def add(a: Operand, b: Operand) -> Tensor:
    r"""a + b, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "add", (a, b), (), 1)[0]


def arange(graph: Graph, *, count: Size, start: float = 0.0, step: float = 1.0) -> Tensor:
    r"""start, start + step, start + 2 step, ...: count numbers.

    count: how many (1 or more)
    start: the first (finite in f32 or infinite or NaN)
    step: from one to the next (finite in f32)
    """
    return add_op(graph, "arange", (), (("count", 1, count), ("start", 2, start), ("step", 2, step)), 1)[0]


def argmax(x: Operand, *, axis: Size = -1) -> Tensor:
    r"""where the first NaN along an axis is, else the largest element, the first of equals; the result lacks the axis.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    """
    return add_op(None, "argmax", (x,), (("axis", 1, axis),), 1)[0]


def attention(q: Operand, k: Operand, v: Operand, mask: Operand | None = None, positions: Operand | None = None, *, scale: float = 0.0, causal: Size = 0, window: Size = 0) -> Tensor:
    r"""softmax(scale * q k^T + mask) v per head; head h reads key head h / (heads / kv_heads). Visible to query j are all keys; with positions or causal, the keys i <= p_j, where p_j is positions[j] or, with causal, n - t + j; with window w of those, the keys i > p_j - w. What is not visible does not count, whatever it holds. A query whose scores are all minus infinity, as where the mask leaves it no key, gives zeros.

    q: f32
    k: f32, f16 or bf16
    v: f32, f16 or bf16
    mask: f32, optional
    positions: i32 or i64, optional
    scale: the factor of the scores; 0: 1/sqrt(d) (finite in f32)
    causal: 1: the queries are the last t of the n positions (0 to 1)
    window: how many keys up to its own position a query sees; 0: all. Needs positions or causal (0 or more)
    """
    return add_op(None, "attention", (q, k, v, mask, positions), (("scale", 2, scale), ("causal", 1, causal), ("window", 1, window)), 1)[0]


def cast(x: Operand, *, dtype: str) -> Tensor:
    r"""x in another dtype: to a 16-bit float rounded to nearest even, from float to integer cut towards 0, to the least or greatest integer where it lies beyond, NaN to 0; from integer to a shorter one the low bits.

    x: any dtype
    dtype: the dtype ("f32", "f16", "bf16", "i8", "i16", "i32", "i64")
    """
    return add_op(None, "cast", (x,), (("dtype", 3, dtype),), 1)[0]


def clamp(x: Operand, *, min: float, max: float) -> Tensor:
    r"""x, but at least min and at most max.

    x: f32
    min: the least value (finite in f32 or infinite)
    max: the greatest value, not below min (finite in f32 or infinite)
    """
    return add_op(None, "clamp", (x,), (("min", 2, min), ("max", 2, max)), 1)[0]


def concat(*x: Operand, axis: Size) -> Tensor:
    r"""the inputs one behind the other along an axis.

    x: any dtype
    axis: the axis; negative counts from the end (-4 to 3)
    """
    return add_op(None, "concat", (*x,), (("axis", 1, axis),), 1)[0]


def conv1d(x: Operand, weight: Operand, bias: Operand | None = None, *, stride: Size = 1, padding: Size | Sequence[Size] = (0,), dilation: Size = 1, groups: Size = 1) -> Tensor:
    r"""out[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] * x[n, c, i*stride + k*dilation - padding], c within o's group, x zero beyond its ends.

    x: f32
    weight: f32, f16 or bf16
    bias: f32, optional
    stride: input elements from one output to the next (1 to 2147483647)
    padding: zeros put at both ends, or at the left and the right one (0 to 2147483647)
    dilation: input elements from one kernel element to the next (1 to 2147483647)
    groups: into how many groups the channels fall; each output channel reads one (1 to 2147483647)
    """
    return add_op(None, "conv1d", (x, weight, bias), (("stride", 1, stride), ("padding", 4, padding), ("dilation", 1, dilation), ("groups", 1, groups)), 1)[0]


def conv2d(x: Operand, weight: Operand, bias: Operand | None = None, *, stride: Size | Sequence[Size] = (1,), padding: Size | Sequence[Size] = (0,), dilation: Size | Sequence[Size] = (1,), groups: Size = 1) -> Tensor:
    r"""out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[n, c, i*stride + k*dilation - padding, j*stride + l*dilation - padding], c within o's group, x zero beyond its edges.

    x: f32
    weight: f32, f16 or bf16
    bias: f32, optional
    stride: input elements from one output to the next: one value, or for h and w (1 to 2147483647)
    padding: zeros put on all sides; above and below, left and right; or top, left, bottom, right (0 to 2147483647)
    dilation: input elements from one kernel element to the next: one value, or for h and w (1 to 2147483647)
    groups: into how many groups the channels fall; each output channel reads one (1 to 2147483647)
    """
    return add_op(None, "conv2d", (x, weight, bias), (("stride", 4, stride), ("padding", 4, padding), ("dilation", 4, dilation), ("groups", 1, groups)), 1)[0]


def conv_transpose1d(x: Operand, weight: Operand, bias: Operand | None = None, *, stride: Size = 1, padding: Size | Sequence[Size] = (0,), output_padding: Size = 0, dilation: Size = 1, groups: Size = 1) -> Tensor:
    r"""each x[n, c, i] adds weight[c, o, k] * x[n, c, i] to out[n, o, i*stride + k*dilation - padding], o within c's group; then the bias.

    x: f32
    weight: f32, f16 or bf16
    bias: f32, optional
    stride: output elements from one input to the next (1 to 2147483647)
    padding: how many outputs are cut off at both ends, or at the left and the right one (0 to 2147483647)
    output_padding: how many outputs more there are at the right end, less than stride or dilation (0 to 2147483647)
    dilation: output elements from one kernel element to the next (1 to 2147483647)
    groups: into how many groups the channels fall (1 to 2147483647)
    """
    return add_op(None, "conv_transpose1d", (x, weight, bias), (("stride", 1, stride), ("padding", 4, padding), ("output_padding", 1, output_padding), ("dilation", 1, dilation), ("groups", 1, groups)), 1)[0]


def cos(x: Operand) -> Tensor:
    r"""cos(x), x in radians, element by element.

    x: f32
    """
    return add_op(None, "cos", (x,), (), 1)[0]


def cumsum(x: Operand, *, axis: Size = -1) -> Tensor:
    r"""the sums of the elements up to each one, along an axis.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    """
    return add_op(None, "cumsum", (x,), (("axis", 1, axis),), 1)[0]


def depth_to_space(x: Operand, *, block: Size, mode: str = "CRD") -> Tensor:
    r"""channels rearranged into blocks of an image: with mode "CRD" out[n, c, i*block + k, j*block + l] = x[n, (c*block + k)*block + l, i, j], with "DCR" the channel is (k*block + l)*channels + c.

    x: f32
    block: the length of a block's edge (1 to 65536)
    mode: whether the block's place is the inner part of the channel or the outer ("CRD", "DCR")
    """
    return add_op(None, "depth_to_space", (x,), (("block", 1, block), ("mode", 3, mode)), 1)[0]


def div(a: Operand, b: Operand) -> Tensor:
    r"""a / b, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "div", (a, b), (), 1)[0]


def elu(x: Operand, *, alpha: float = 1.0) -> Tensor:
    r"""x where x > 0, else alpha * (exp(x) - 1).

    x: f32
    alpha: minus the limit at minus infinity (finite in f32)
    """
    return add_op(None, "elu", (x,), (("alpha", 2, alpha),), 1)[0]


def embedding(weight: Operand, ids: Operand) -> Tensor:
    r"""the rows of weight that ids name.

    weight: f32, f16, bf16 or quantised
    ids: i32 or i64
    """
    return add_op(None, "embedding", (weight, ids), (), 1)[0]


def exp(x: Operand) -> Tensor:
    r"""e^x, element by element.

    x: f32
    """
    return add_op(None, "exp", (x,), (), 1)[0]


def expand(x: Operand, *, shape: Size | Sequence[Size]) -> Tensor:
    r"""x stretched to a shape as in numpy's broadcasting.

    x: f32
    shape: the result's shape (1 or more)
    """
    return add_op(None, "expand", (x,), (("shape", 4, shape),), 1)[0]


def gelu(x: Operand, *, approximate: str = "none") -> Tensor:
    r"""x * Phi(x), Phi the normal distribution: x/2 * (1 + erf(x/sqrt(2))), or with approximate = "tanh" x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).

    x: f32
    approximate: whether the error function or its approximation by tanh is used ("none", "tanh")
    """
    return add_op(None, "gelu", (x,), (("approximate", 3, approximate),), 1)[0]


def glu(x: Operand, *, axis: Size = -1) -> Tensor:
    r"""a * sigmoid(b), a and b the two halves of x along an axis.

    x: f32
    axis: the axis that is halved; negative counts from the end (-4 to 3)
    """
    return add_op(None, "glu", (x,), (("axis", 1, axis),), 1)[0]


def group_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, groups: Size, eps: float = 1e-05) -> Tensor:
    r"""layer_norm over groups of channels and all positions, then * weight + bias per channel.

    x: f32
    weight: f32, optional
    bias: f32, optional
    groups: how many groups the channels (axis 1) form, in order (1 to 2147483647)
    eps: added to the variance (0 or more, finite in f32)
    """
    return add_op(None, "group_norm", (x, weight, bias), (("groups", 1, groups), ("eps", 2, eps)), 1)[0]


def layer_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, eps: float = 1e-05) -> Tensor:
    r"""(x - mean) / sqrt(var + eps) * weight + bias over the last axis; var is the mean squared distance from the mean.

    x: f32
    weight: f32, optional
    bias: f32, optional
    eps: added to the variance (0 or more, finite in f32)
    """
    return add_op(None, "layer_norm", (x, weight, bias), (("eps", 2, eps),), 1)[0]


def leaky_relu(x: Operand, *, negative_slope: float = 0.01) -> Tensor:
    r"""x where x > 0, else negative_slope * x.

    x: f32
    negative_slope: the slope below 0 (finite in f32)
    """
    return add_op(None, "leaky_relu", (x,), (("negative_slope", 2, negative_slope),), 1)[0]


def linear(x: Operand, weight: Operand, bias: Operand | None = None) -> Tensor:
    r"""x W^T + bias: each row of x times the rows of the weight.

    x: f32
    weight: f32, f16, bf16 or quantised
    bias: f32, optional
    """
    return add_op(None, "linear", (x, weight, bias), (), 1)[0]


def log(x: Operand) -> Tensor:
    r"""the natural logarithm of x, element by element.

    x: f32
    """
    return add_op(None, "log", (x,), (), 1)[0]


def log_softmax(x: Operand, *, axis: Size = -1) -> Tensor:
    r"""x - max - log(sum(exp(x - max))) along an axis.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    """
    return add_op(None, "log_softmax", (x,), (("axis", 1, axis),), 1)[0]


def lstm_cell(x: Operand, h: Operand, c: Operand, weight_ih: Operand, weight_hh: Operand, bias_ih: Operand | None = None, bias_hh: Operand | None = None) -> tuple[Tensor, Tensor]:
    r"""one step of an LSTM: with [i, f, g, o] = weight_ih x + bias_ih + weight_hh h + bias_hh, c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c').

    x: f32
    h: f32
    c: f32
    weight_ih: f32, f16, bf16 or quantised
    weight_hh: f32, f16, bf16 or quantised
    bias_ih: f32, optional
    bias_hh: f32, optional
    """
    out = add_op(None, "lstm_cell", (x, h, c, weight_ih, weight_hh, bias_ih, bias_hh), (), 2)
    return out[0], out[1]


def matmul(a: Operand, b: Operand) -> Tensor:
    r"""a b, the matrix product of the last two axes; the axes before them broadcast as in numpy.

    a: f32
    b: f32, f16 or bf16
    """
    return add_op(None, "matmul", (a, b), (), 1)[0]


def maximum(a: Operand, b: Operand) -> Tensor:
    r"""the larger of a and b, NaN where either is, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "maximum", (a, b), (), 1)[0]


def minimum(a: Operand, b: Operand) -> Tensor:
    r"""the smaller of a and b, NaN where either is, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "minimum", (a, b), (), 1)[0]


def mul(a: Operand, b: Operand) -> Tensor:
    r"""a * b, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "mul", (a, b), (), 1)[0]


def neg(x: Operand) -> Tensor:
    r"""-x, element by element.

    x: f32
    """
    return add_op(None, "neg", (x,), (), 1)[0]


def pad(x: Operand, *, pads: Size | Sequence[Size], mode: str = "constant", value: float = 0.0) -> Tensor:
    r"""x with elements put before and behind along each axis: a value, or with mode "reflect" x's own, mirrored at its outermost ones.

    x: f32
    pads: how many before each axis, then how many behind each (0 to 1099511627776)
    mode: what is put there ("constant", "reflect")
    value: the constant (finite in f32 or infinite or NaN)
    """
    return add_op(None, "pad", (x,), (("pads", 4, pads), ("mode", 3, mode), ("value", 2, value)), 1)[0]


def reduce_max(x: Operand, *, axis: Size = -1, keepdims: Size = 1) -> Tensor:
    r"""the largest element along an axis, NaN where there is one.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    """
    return add_op(None, "reduce_max", (x,), (("axis", 1, axis), ("keepdims", 1, keepdims)), 1)[0]


def reduce_mean(x: Operand, *, axis: Size = -1, keepdims: Size = 1) -> Tensor:
    r"""the mean along an axis.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    """
    return add_op(None, "reduce_mean", (x,), (("axis", 1, axis), ("keepdims", 1, keepdims)), 1)[0]


def reduce_sum(x: Operand, *, axis: Size = -1, keepdims: Size = 1) -> Tensor:
    r"""the sum along an axis.

    x: f32
    axis: the axis; negative counts from the end (-4 to 3)
    keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    """
    return add_op(None, "reduce_sum", (x,), (("axis", 1, axis), ("keepdims", 1, keepdims)), 1)[0]


def relu(x: Operand) -> Tensor:
    r"""max(x, 0), element by element.

    x: f32
    """
    return add_op(None, "relu", (x,), (), 1)[0]


def reshape(x: Operand, *, shape: Size | Sequence[Size]) -> Tensor:
    r"""the same elements in another shape, in row-major order.

    x: any dtype
    shape: the new shape; one dimension may be -1 for what is left over (-1 or more)
    """
    return add_op(None, "reshape", (x,), (("shape", 4, shape),), 1)[0]


def rms_norm(x: Operand, weight: Operand | None = None, *, eps: float = 1e-05) -> Tensor:
    r"""x / sqrt(mean(x^2) + eps) * weight over the last axis.

    x: f32
    weight: f32, optional
    eps: added to the mean square (0 or more, finite in f32)
    """
    return add_op(None, "rms_norm", (x, weight), (("eps", 2, eps),), 1)[0]


def rope(x: Operand, positions: Operand, *, base: float = 10000.0, mode: str = "half", dims: Size = 0, scale: float = 1.0) -> Tensor:
    r"""rotary position embedding: of each head's first dims elements the pairs (a, b) become (a cos t - b sin t, b cos t + a sin t), t = position * scale * base^(-2i/dims) for pair i; mode "half" pairs i with i + dims/2, "interleaved" 2i with 2i+1.

    x: f32
    positions: i32 or i64
    base: the base of the frequencies (1.1754943508222875e-38 or more, finite in f32)
    mode: which elements pair up ("half", "interleaved")
    dims: how many elements of each head turn, even; 0: all (0 to 2147483647)
    scale: what positions are multiplied by (finite in f32)
    """
    return add_op(None, "rope", (x, positions), (("base", 2, base), ("mode", 3, mode), ("dims", 1, dims), ("scale", 2, scale)), 1)[0]


def scale(x: Operand, *, scale: float = 1.0, bias: float = 0.0) -> Tensor:
    r"""x * scale + bias.

    x: f32
    scale: the factor (finite in f32 or infinite or NaN)
    bias: what is added after (finite in f32 or infinite or NaN)
    """
    return add_op(None, "scale", (x,), (("scale", 2, scale), ("bias", 2, bias)), 1)[0]


def sigmoid(x: Operand) -> Tensor:
    r"""1 / (1 + exp(-x)), element by element.

    x: f32
    """
    return add_op(None, "sigmoid", (x,), (), 1)[0]


def silu(x: Operand) -> Tensor:
    r"""x * sigmoid(x), also called swish, element by element.

    x: f32
    """
    return add_op(None, "silu", (x,), (), 1)[0]


def sin(x: Operand) -> Tensor:
    r"""sin(x), x in radians, element by element.

    x: f32
    """
    return add_op(None, "sin", (x,), (), 1)[0]


def slice(x: Operand, *, axis: Size, start: Size = 0, end: Size = 9223372036854775807, step: Size = 1) -> Tensor:
    r"""along an axis the elements start, start + step, ... before end (step < 0: down to but without end); negative start and end count from the axis' end, beyond it they are clamped.

    x: any dtype
    axis: the axis; negative counts from the end (-4 to 3)
    start: the first element
    end: where it ends; with step < 0, an end further from the axis' end than its length goes through to the first element
    step: from one element to the next, not 0
    """
    return add_op(None, "slice", (x,), (("axis", 1, axis), ("start", 1, start), ("end", 1, end), ("step", 1, step)), 1)[0]


def snake(x: Operand, alpha: Operand, beta: Operand) -> Tensor:
    r"""x + sin(alpha x)^2 / beta, alpha and beta per channel (axis 1).

    x: f32
    alpha: f32
    beta: f32
    """
    return add_op(None, "snake", (x, alpha, beta), (), 1)[0]


def softmax(x: Operand, *, axis: Size = -1) -> Tensor:
    r"""exp(x) / sum(exp(x)) along an axis.

    x: f32
    axis: the axis that comes to 1; negative counts from the end (-4 to 3)
    """
    return add_op(None, "softmax", (x,), (("axis", 1, axis),), 1)[0]


def softplus(x: Operand) -> Tensor:
    r"""log(1 + exp(x)), element by element.

    x: f32
    """
    return add_op(None, "softplus", (x,), (), 1)[0]


def sqrt(x: Operand) -> Tensor:
    r"""the square root of x, element by element.

    x: f32
    """
    return add_op(None, "sqrt", (x,), (), 1)[0]


def square(x: Operand) -> Tensor:
    r"""x^2, element by element.

    x: f32
    """
    return add_op(None, "square", (x,), (), 1)[0]


def state_write(state: Operand, values: Operand, positions: Operand | None = None) -> Tensor:
    r"""the state with its row positions[i] replaced by values[i], rounded to its dtype; without positions, all of it replaced. A position given twice gets either row.

    state: f32, f16 or bf16
    values: f32
    positions: i32 or i64, optional
    """
    return add_op(None, "state_write", (state, values, positions), (), 1)[0]


def step(x: Operand) -> Tensor:
    r"""1 where x > 0, else 0, element by element.

    x: f32
    """
    return add_op(None, "step", (x,), (), 1)[0]


def sub(a: Operand, b: Operand) -> Tensor:
    r"""a - b, element by element with numpy's broadcasting.

    a: f32
    b: f32
    """
    return add_op(None, "sub", (a, b), (), 1)[0]


def swiglu(gate: Operand, up: Operand) -> Tensor:
    r"""silu(gate) * up.

    gate: f32
    up: f32
    """
    return add_op(None, "swiglu", (gate, up), (), 1)[0]


def tanh(x: Operand) -> Tensor:
    r"""tanh(x), element by element.

    x: f32
    """
    return add_op(None, "tanh", (x,), (), 1)[0]


def top_k(x: Operand, *, k: Size) -> tuple[Tensor, Tensor]:
    r"""the k largest elements of each row, NaN before all, then the largest first, and where they are; the first of equals comes first.

    x: f32
    k: how many, at most the row's length (1 or more)
    """
    out = add_op(None, "top_k", (x,), (("k", 1, k),), 2)
    return out[0], out[1]


def transpose(x: Operand, *, axes: Size | Sequence[Size]) -> Tensor:
    r"""the axes in another order: axis i of the result is axis axes[i] of x.

    x: any dtype
    axes: a permutation of the axes; negative counts from the end (-4 to 3)
    """
    return add_op(None, "transpose", (x,), (("axes", 4, axes),), 1)[0]


def upsample(x: Operand, *, scale: Size | Sequence[Size] = (2,), mode: str = "nearest") -> Tensor:
    r"""an image made larger: out[n, c, i, j] = x[n, c, floor(i / scale_h), floor(j / scale_w)].

    x: f32
    scale: the factor, 1 or more: one value, or for h and w (1 to 65536)
    mode: which elements are taken ("nearest")
    """
    return add_op(None, "upsample", (x,), (("scale", 4, scale), ("mode", 3, mode)), 1)[0]


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    r"""a where condition is not 0 (NaN is not), else b, with numpy's broadcasting.

    condition: f32
    a: f32
    b: f32
    """
    return add_op(None, "where", (condition, a, b), (), 1)[0]
