// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.

/// The operators: each adds itself to the graph of its tensors.
/// docs/operators.md has the table with dtypes, ranks and sources.
public enum Ops {
    /// |x|, element by element.
    ///
    /// - x: f32
    public static func abs(_ x: Tensor) throws -> Tensor {
        try x.graph.add("abs", [x], [], outputs: 1)[0]
    }

    /// a + b, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func add(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("add", [a, b], [], outputs: 1)[0]
    }

    /// start, start + step, start + 2 step, ...: count numbers.
    ///
    /// - count: how many (1 or more)
    /// - start: the first (finite in f32 or infinite or NaN)
    /// - step: from one to the next (finite in f32)
    public static func arange(_ graph: Graph, count: any Size, start: Double = 0, step: Double = 1) throws -> Tensor {
        try graph.add("arange", [], [.int("count", count), .float("start", start), .float("step", step)], outputs: 1)[0]
    }

    /// where the first NaN along an axis is, else the largest element, the first of equals; the result lacks the axis.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    public static func argmax(_ x: Tensor, axis: any Size = -1) throws -> Tensor {
        try x.graph.add("argmax", [x], [.int("axis", axis)], outputs: 1)[0]
    }

    /// softmax(scale * q k^T + mask) v per head; head h reads key head h / (heads / kv_heads). Visible to query j are all keys; with positions or causal, the keys i <= p_j, where p_j is positions[j] or, with causal, n - t + j; with window w of those, the keys i > p_j - w. What is not visible does not count, whatever it holds. A query whose scores are all minus infinity, as where the mask leaves it no key, gives zeros.
    ///
    /// - q: f32
    /// - k: f32, f16 or bf16
    /// - v: f32, f16 or bf16
    /// - mask: f32, optional
    /// - positions: i32 or i64, optional
    /// - scale: the factor of the scores; 0: 1/sqrt(d) (finite in f32)
    /// - causal: 1: the queries are the last t of the n positions (0 to 1)
    /// - window: how many keys up to its own position a query sees; 0: all. Needs positions or causal (0 or more)
    public static func attention(_ q: Tensor, _ k: Tensor, _ v: Tensor, mask: Tensor? = nil, positions: Tensor? = nil, scale: Double = 0, causal: any Size = 0, window: any Size = 0) throws -> Tensor {
        try q.graph.add("attention", [q, k, v, mask, positions], [.float("scale", scale), .int("causal", causal), .int("window", window)], outputs: 1)[0]
    }

    /// x in another dtype: to a 16-bit float rounded to nearest even, from float to integer cut towards 0, to the least or greatest integer where it lies beyond, NaN to 0; from integer to a shorter one the low bits.
    ///
    /// - x: any dtype
    /// - dtype: the dtype ("f32", "f16", "bf16", "i8", "i16", "i32", "i64")
    public static func cast(_ x: Tensor, dtype: String) throws -> Tensor {
        try x.graph.add("cast", [x], [.string("dtype", dtype)], outputs: 1)[0]
    }

    /// x, but at least min and at most max.
    ///
    /// - x: f32
    /// - min: the least value (finite in f32 or infinite)
    /// - max: the greatest value, not below min (finite in f32 or infinite)
    public static func clamp(_ x: Tensor, min: Double, max: Double) throws -> Tensor {
        try x.graph.add("clamp", [x], [.float("min", min), .float("max", max)], outputs: 1)[0]
    }

    /// the inputs one behind the other along an axis.
    ///
    /// - x: any dtype
    /// - axis: the axis; negative counts from the end (-4 to 3)
    public static func concat(_ x: Tensor, _ more: Tensor..., axis: any Size) throws -> Tensor {
        try x.graph.add("concat", [x] + more, [.int("axis", axis)], outputs: 1)[0]
    }

    /// out[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] * x[n, c, i*stride + k*dilation - padding], c within o's group, x zero beyond its ends.
    ///
    /// - x: f32
    /// - weight: f32, f16 or bf16
    /// - bias: f32, optional
    /// - stride: input elements from one output to the next (1 to 2147483647)
    /// - padding: zeros put at both ends, or at the left and the right one (0 to 2147483647)
    /// - dilation: input elements from one kernel element to the next (1 to 2147483647)
    /// - groups: into how many groups the channels fall; each output channel reads one (1 to 2147483647)
    public static func conv1d(_ x: Tensor, _ weight: Tensor, bias: Tensor? = nil, stride: any Size = 1, padding: [any Size] = [0], dilation: any Size = 1, groups: any Size = 1) throws -> Tensor {
        try x.graph.add("conv1d", [x, weight, bias], [.int("stride", stride), .ints("padding", padding), .int("dilation", dilation), .int("groups", groups)], outputs: 1)[0]
    }

    /// out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[n, c, i*stride + k*dilation - padding, j*stride + l*dilation - padding], c within o's group, x zero beyond its edges.
    ///
    /// - x: f32
    /// - weight: f32, f16 or bf16
    /// - bias: f32, optional
    /// - stride: input elements from one output to the next: one value, or for h and w (1 to 2147483647)
    /// - padding: zeros put on all sides; above and below, left and right; or top, left, bottom, right (0 to 2147483647)
    /// - dilation: input elements from one kernel element to the next: one value, or for h and w (1 to 2147483647)
    /// - groups: into how many groups the channels fall; each output channel reads one (1 to 2147483647)
    public static func conv2d(_ x: Tensor, _ weight: Tensor, bias: Tensor? = nil, stride: [any Size] = [1], padding: [any Size] = [0], dilation: [any Size] = [1], groups: any Size = 1) throws -> Tensor {
        try x.graph.add("conv2d", [x, weight, bias], [.ints("stride", stride), .ints("padding", padding), .ints("dilation", dilation), .int("groups", groups)], outputs: 1)[0]
    }

    /// each x[n, c, i] adds weight[c, o, k] * x[n, c, i] to out[n, o, i*stride + k*dilation - padding], o within c's group; then the bias.
    ///
    /// - x: f32
    /// - weight: f32, f16 or bf16
    /// - bias: f32, optional
    /// - stride: output elements from one input to the next (1 to 2147483647)
    /// - padding: how many outputs are cut off at both ends, or at the left and the right one (0 to 2147483647)
    /// - outputPadding: how many outputs more there are at the right end, less than stride or dilation (0 to 2147483647)
    /// - dilation: output elements from one kernel element to the next (1 to 2147483647)
    /// - groups: into how many groups the channels fall (1 to 2147483647)
    public static func convTranspose1d(_ x: Tensor, _ weight: Tensor, bias: Tensor? = nil, stride: any Size = 1, padding: [any Size] = [0], outputPadding: any Size = 0, dilation: any Size = 1, groups: any Size = 1) throws -> Tensor {
        try x.graph.add("conv_transpose1d", [x, weight, bias], [.int("stride", stride), .ints("padding", padding), .int("output_padding", outputPadding), .int("dilation", dilation), .int("groups", groups)], outputs: 1)[0]
    }

    /// cos(x), x in radians, element by element.
    ///
    /// - x: f32
    public static func cos(_ x: Tensor) throws -> Tensor {
        try x.graph.add("cos", [x], [], outputs: 1)[0]
    }

    /// the sums of the elements up to each one, along an axis.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    public static func cumsum(_ x: Tensor, axis: any Size = -1) throws -> Tensor {
        try x.graph.add("cumsum", [x], [.int("axis", axis)], outputs: 1)[0]
    }

    /// channels rearranged into blocks of an image: with mode "CRD" out[n, c, i*block + k, j*block + l] = x[n, (c*block + k)*block + l, i, j], with "DCR" the channel is (k*block + l)*channels + c.
    ///
    /// - x: f32
    /// - block: the length of a block's edge (1 to 65536)
    /// - mode: whether the block's place is the inner part of the channel or the outer ("CRD", "DCR")
    public static func depthToSpace(_ x: Tensor, block: any Size, mode: String = "CRD") throws -> Tensor {
        try x.graph.add("depth_to_space", [x], [.int("block", block), .string("mode", mode)], outputs: 1)[0]
    }

    /// a / b, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func div(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("div", [a, b], [], outputs: 1)[0]
    }

    /// x where x > 0, else alpha * (exp(x) - 1).
    ///
    /// - x: f32
    /// - alpha: minus the limit at minus infinity (finite in f32)
    public static func elu(_ x: Tensor, alpha: Double = 1) throws -> Tensor {
        try x.graph.add("elu", [x], [.float("alpha", alpha)], outputs: 1)[0]
    }

    /// the rows of weight that ids name.
    ///
    /// - weight: f32, f16, bf16 or quantised
    /// - ids: i32 or i64
    public static func embedding(_ weight: Tensor, _ ids: Tensor) throws -> Tensor {
        try weight.graph.add("embedding", [weight, ids], [], outputs: 1)[0]
    }

    /// e^x, element by element.
    ///
    /// - x: f32
    public static func exp(_ x: Tensor) throws -> Tensor {
        try x.graph.add("exp", [x], [], outputs: 1)[0]
    }

    /// x stretched to a shape as in numpy's broadcasting.
    ///
    /// - x: f32
    /// - shape: the result's shape (1 or more)
    public static func expand(_ x: Tensor, shape: [any Size]) throws -> Tensor {
        try x.graph.add("expand", [x], [.ints("shape", shape)], outputs: 1)[0]
    }

    /// x * Phi(x), Phi the normal distribution: x/2 * (1 + erf(x/sqrt(2))), or with approximate = "tanh" x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
    ///
    /// - x: f32
    /// - approximate: whether the error function or its approximation by tanh is used ("none", "tanh")
    public static func gelu(_ x: Tensor, approximate: String = "none") throws -> Tensor {
        try x.graph.add("gelu", [x], [.string("approximate", approximate)], outputs: 1)[0]
    }

    /// a * sigmoid(b), a and b the two halves of x along an axis.
    ///
    /// - x: f32
    /// - axis: the axis that is halved; negative counts from the end (-4 to 3)
    public static func glu(_ x: Tensor, axis: any Size = -1) throws -> Tensor {
        try x.graph.add("glu", [x], [.int("axis", axis)], outputs: 1)[0]
    }

    /// layer_norm over groups of channels and all positions, then * weight + bias per channel.
    ///
    /// - x: f32
    /// - weight: f32, optional
    /// - bias: f32, optional
    /// - groups: how many groups the channels (axis 1) form, in order (1 to 2147483647)
    /// - eps: added to the variance (0 or more, finite in f32)
    public static func groupNorm(_ x: Tensor, weight: Tensor? = nil, bias: Tensor? = nil, groups: any Size, eps: Double = 1e-05) throws -> Tensor {
        try x.graph.add("group_norm", [x, weight, bias], [.int("groups", groups), .float("eps", eps)], outputs: 1)[0]
    }

    /// (x - mean) / sqrt(var + eps) * weight + bias over the last axis; var is the mean squared distance from the mean.
    ///
    /// - x: f32
    /// - weight: f32, optional
    /// - bias: f32, optional
    /// - eps: added to the variance (0 or more, finite in f32)
    public static func layerNorm(_ x: Tensor, weight: Tensor? = nil, bias: Tensor? = nil, eps: Double = 1e-05) throws -> Tensor {
        try x.graph.add("layer_norm", [x, weight, bias], [.float("eps", eps)], outputs: 1)[0]
    }

    /// x where x > 0, else negative_slope * x.
    ///
    /// - x: f32
    /// - negativeSlope: the slope below 0 (finite in f32)
    public static func leakyRelu(_ x: Tensor, negativeSlope: Double = 0.01) throws -> Tensor {
        try x.graph.add("leaky_relu", [x], [.float("negative_slope", negativeSlope)], outputs: 1)[0]
    }

    /// x W^T + bias: each row of x times the rows of the weight.
    ///
    /// - x: f32
    /// - weight: f32, f16, bf16 or quantised
    /// - bias: f32, optional
    public static func linear(_ x: Tensor, _ weight: Tensor, bias: Tensor? = nil) throws -> Tensor {
        try x.graph.add("linear", [x, weight, bias], [], outputs: 1)[0]
    }

    /// the natural logarithm of x, element by element.
    ///
    /// - x: f32
    public static func log(_ x: Tensor) throws -> Tensor {
        try x.graph.add("log", [x], [], outputs: 1)[0]
    }

    /// x - max - log(sum(exp(x - max))) along an axis.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    public static func logSoftmax(_ x: Tensor, axis: any Size = -1) throws -> Tensor {
        try x.graph.add("log_softmax", [x], [.int("axis", axis)], outputs: 1)[0]
    }

    /// one step of an LSTM: with [i, f, g, o] = weight_ih x + bias_ih + weight_hh h + bias_hh, c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c').
    ///
    /// - x: f32
    /// - h: f32
    /// - c: f32
    /// - weightIh: f32, f16, bf16 or quantised
    /// - weightHh: f32, f16, bf16 or quantised
    /// - biasIh: f32, optional
    /// - biasHh: f32, optional
    public static func lstmCell(_ x: Tensor, _ h: Tensor, _ c: Tensor, _ weightIh: Tensor, _ weightHh: Tensor, biasIh: Tensor? = nil, biasHh: Tensor? = nil) throws -> (h: Tensor, c: Tensor) {
        let out = try x.graph.add("lstm_cell", [x, h, c, weightIh, weightHh, biasIh, biasHh], [], outputs: 2)
        return (out[0], out[1])
    }

    /// a b, the matrix product of the last two axes; the axes before them broadcast as in numpy.
    ///
    /// - a: f32
    /// - b: f32, f16 or bf16
    public static func matmul(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("matmul", [a, b], [], outputs: 1)[0]
    }

    /// the larger of a and b, NaN where either is, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func maximum(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("maximum", [a, b], [], outputs: 1)[0]
    }

    /// the smaller of a and b, NaN where either is, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func minimum(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("minimum", [a, b], [], outputs: 1)[0]
    }

    /// a * b, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func mul(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("mul", [a, b], [], outputs: 1)[0]
    }

    /// -x, element by element.
    ///
    /// - x: f32
    public static func neg(_ x: Tensor) throws -> Tensor {
        try x.graph.add("neg", [x], [], outputs: 1)[0]
    }

    /// x with elements put before and behind along each axis: a value, or with mode "reflect" x's own, mirrored at its outermost ones.
    ///
    /// - x: f32
    /// - pads: how many before each axis, then how many behind each (0 to 1099511627776)
    /// - mode: what is put there ("constant", "reflect")
    /// - value: the constant (finite in f32 or infinite or NaN)
    public static func pad(_ x: Tensor, pads: [any Size], mode: String = "constant", value: Double = 0) throws -> Tensor {
        try x.graph.add("pad", [x], [.ints("pads", pads), .string("mode", mode), .float("value", value)], outputs: 1)[0]
    }

    /// the largest element along an axis, NaN where there is one.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    /// - keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    public static func reduceMax(_ x: Tensor, axis: any Size = -1, keepdims: any Size = 1) throws -> Tensor {
        try x.graph.add("reduce_max", [x], [.int("axis", axis), .int("keepdims", keepdims)], outputs: 1)[0]
    }

    /// the mean along an axis.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    /// - keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    public static func reduceMean(_ x: Tensor, axis: any Size = -1, keepdims: any Size = 1) throws -> Tensor {
        try x.graph.add("reduce_mean", [x], [.int("axis", axis), .int("keepdims", keepdims)], outputs: 1)[0]
    }

    /// the sum along an axis.
    ///
    /// - x: f32
    /// - axis: the axis; negative counts from the end (-4 to 3)
    /// - keepdims: 1: the axis stays, with length 1; 0: it goes (0 to 1)
    public static func reduceSum(_ x: Tensor, axis: any Size = -1, keepdims: any Size = 1) throws -> Tensor {
        try x.graph.add("reduce_sum", [x], [.int("axis", axis), .int("keepdims", keepdims)], outputs: 1)[0]
    }

    /// max(x, 0), element by element.
    ///
    /// - x: f32
    public static func relu(_ x: Tensor) throws -> Tensor {
        try x.graph.add("relu", [x], [], outputs: 1)[0]
    }

    /// the same elements in another shape, in row-major order.
    ///
    /// - x: any dtype
    /// - shape: the new shape; one dimension may be -1 for what is left over (-1 or more)
    public static func reshape(_ x: Tensor, shape: [any Size]) throws -> Tensor {
        try x.graph.add("reshape", [x], [.ints("shape", shape)], outputs: 1)[0]
    }

    /// x / sqrt(mean(x^2) + eps) * weight over the last axis.
    ///
    /// - x: f32
    /// - weight: f32, optional
    /// - eps: added to the mean square (0 or more, finite in f32)
    public static func rmsNorm(_ x: Tensor, weight: Tensor? = nil, eps: Double = 1e-05) throws -> Tensor {
        try x.graph.add("rms_norm", [x, weight], [.float("eps", eps)], outputs: 1)[0]
    }

    /// rotary position embedding: of each head's first dims elements the pairs (a, b) become (a cos t - b sin t, b cos t + a sin t), t = position * scale * base^(-2i/dims) for pair i; mode "half" pairs i with i + dims/2, "interleaved" 2i with 2i+1.
    ///
    /// - x: f32
    /// - positions: i32 or i64
    /// - base: the base of the frequencies (1.1754943508222875e-38 or more, finite in f32)
    /// - mode: which elements pair up ("half", "interleaved")
    /// - dims: how many elements of each head turn, even; 0: all (0 to 2147483647)
    /// - scale: what positions are multiplied by (finite in f32)
    public static func rope(_ x: Tensor, _ positions: Tensor, base: Double = 10000, mode: String = "half", dims: any Size = 0, scale: Double = 1) throws -> Tensor {
        try x.graph.add("rope", [x, positions], [.float("base", base), .string("mode", mode), .int("dims", dims), .float("scale", scale)], outputs: 1)[0]
    }

    /// x * scale + bias.
    ///
    /// - x: f32
    /// - scale: the factor (finite in f32 or infinite or NaN)
    /// - bias: what is added after (finite in f32 or infinite or NaN)
    public static func scale(_ x: Tensor, scale: Double = 1, bias: Double = 0) throws -> Tensor {
        try x.graph.add("scale", [x], [.float("scale", scale), .float("bias", bias)], outputs: 1)[0]
    }

    /// 1 / (1 + exp(-x)), element by element.
    ///
    /// - x: f32
    public static func sigmoid(_ x: Tensor) throws -> Tensor {
        try x.graph.add("sigmoid", [x], [], outputs: 1)[0]
    }

    /// x * sigmoid(x), also called swish, element by element.
    ///
    /// - x: f32
    public static func silu(_ x: Tensor) throws -> Tensor {
        try x.graph.add("silu", [x], [], outputs: 1)[0]
    }

    /// sin(x), x in radians, element by element.
    ///
    /// - x: f32
    public static func sin(_ x: Tensor) throws -> Tensor {
        try x.graph.add("sin", [x], [], outputs: 1)[0]
    }

    /// along an axis the elements start, start + step, ... before end (step < 0: down to but without end); negative start and end count from the axis' end, beyond it they are clamped.
    ///
    /// - x: any dtype
    /// - axis: the axis; negative counts from the end (-4 to 3)
    /// - start: the first element
    /// - end: where it ends; with step < 0, an end further from the axis' end than its length goes through to the first element
    /// - step: from one element to the next, not 0
    public static func slice(_ x: Tensor, axis: any Size, start: any Size = 0, end: any Size = 9223372036854775807, step: any Size = 1) throws -> Tensor {
        try x.graph.add("slice", [x], [.int("axis", axis), .int("start", start), .int("end", end), .int("step", step)], outputs: 1)[0]
    }

    /// x + sin(alpha x)^2 / beta, alpha and beta per channel (axis 1).
    ///
    /// - x: f32
    /// - alpha: f32
    /// - beta: f32
    public static func snake(_ x: Tensor, _ alpha: Tensor, _ beta: Tensor) throws -> Tensor {
        try x.graph.add("snake", [x, alpha, beta], [], outputs: 1)[0]
    }

    /// exp(x) / sum(exp(x)) along an axis.
    ///
    /// - x: f32
    /// - axis: the axis that comes to 1; negative counts from the end (-4 to 3)
    public static func softmax(_ x: Tensor, axis: any Size = -1) throws -> Tensor {
        try x.graph.add("softmax", [x], [.int("axis", axis)], outputs: 1)[0]
    }

    /// log(1 + exp(x)), element by element.
    ///
    /// - x: f32
    public static func softplus(_ x: Tensor) throws -> Tensor {
        try x.graph.add("softplus", [x], [], outputs: 1)[0]
    }

    /// the square root of x, element by element.
    ///
    /// - x: f32
    public static func sqrt(_ x: Tensor) throws -> Tensor {
        try x.graph.add("sqrt", [x], [], outputs: 1)[0]
    }

    /// x^2, element by element.
    ///
    /// - x: f32
    public static func square(_ x: Tensor) throws -> Tensor {
        try x.graph.add("square", [x], [], outputs: 1)[0]
    }

    /// the state with its row positions[i] replaced by values[i], rounded to its dtype; without positions, all of it replaced. A position given twice gets either row.
    ///
    /// - state: f32, f16 or bf16
    /// - values: f32
    /// - positions: i32 or i64, optional
    public static func stateWrite(_ state: Tensor, _ values: Tensor, positions: Tensor? = nil) throws -> Tensor {
        try state.graph.add("state_write", [state, values, positions], [], outputs: 1)[0]
    }

    /// 1 where x > 0, else 0, element by element.
    ///
    /// - x: f32
    public static func step(_ x: Tensor) throws -> Tensor {
        try x.graph.add("step", [x], [], outputs: 1)[0]
    }

    /// a - b, element by element with numpy's broadcasting.
    ///
    /// - a: f32
    /// - b: f32
    public static func sub(_ a: Tensor, _ b: Tensor) throws -> Tensor {
        try a.graph.add("sub", [a, b], [], outputs: 1)[0]
    }

    /// silu(gate) * up.
    ///
    /// - gate: f32
    /// - up: f32
    public static func swiglu(_ gate: Tensor, _ up: Tensor) throws -> Tensor {
        try gate.graph.add("swiglu", [gate, up], [], outputs: 1)[0]
    }

    /// tanh(x), element by element.
    ///
    /// - x: f32
    public static func tanh(_ x: Tensor) throws -> Tensor {
        try x.graph.add("tanh", [x], [], outputs: 1)[0]
    }

    /// the k largest elements of each row, NaN before all, then the largest first, and where they are; the first of equals comes first.
    ///
    /// - x: f32
    /// - k: how many, at most the row's length (1 or more)
    public static func topK(_ x: Tensor, k: any Size) throws -> (values: Tensor, indices: Tensor) {
        let out = try x.graph.add("top_k", [x], [.int("k", k)], outputs: 2)
        return (out[0], out[1])
    }

    /// the axes in another order: axis i of the result is axis axes[i] of x.
    ///
    /// - x: any dtype
    /// - axes: a permutation of the axes; negative counts from the end (-4 to 3)
    public static func transpose(_ x: Tensor, axes: [any Size]) throws -> Tensor {
        try x.graph.add("transpose", [x], [.ints("axes", axes)], outputs: 1)[0]
    }

    /// an image made larger: out[n, c, i, j] = x[n, c, floor(i / scale_h), floor(j / scale_w)].
    ///
    /// - x: f32
    /// - scale: the factor, 1 or more: one value, or for h and w (1 to 65536)
    /// - mode: which elements are taken ("nearest")
    public static func upsample(_ x: Tensor, scale: [any Size] = [2], mode: String = "nearest") throws -> Tensor {
        try x.graph.add("upsample", [x], [.ints("scale", scale), .string("mode", mode)], outputs: 1)[0]
    }

    /// a where condition is not 0 (NaN is not), else b, with numpy's broadcasting.
    ///
    /// - condition: f32
    /// - a: f32
    /// - b: f32
    public static func `where`(_ condition: Tensor, _ a: Tensor, _ b: Tensor) throws -> Tensor {
        try condition.graph.add("where", [condition, a, b], [], outputs: 1)[0]
    }
}
