import CQtsAccel

/// A weight of the calls on one backend: a matrix [nOut, nIn], or a convolution's kernel
/// [nOut, k, k, cIn]. Every thread may use it.
public final class Matrix: @unchecked Sendable {
    let handle: OpaquePointer
    public let shape: [Int]

    /// Copies elements, or the blocks of a quantised type.
    public convenience init<C: HostArray>(_ backend: Backend, _ shape: [Int], _ elements: C, _ dtype: DType = .f32) throws {
        guard shape.count <= Int(QTSA_MAX_RANK) else { throw QtsError.shape("matrix: \(shape) has more dimensions than 4") }
        self.init(try elements.withHostBytes { data in
            try Matrix.make(backend) { desc in
                desc.dtype = dtype.rawValue
                desc.rank = Int32(shape.count)
                withUnsafeMutableBytes(of: &desc.shape) { $0.copyBytes(from: shape.map(Int64.init).withUnsafeBytes(Array.init)) }
                desc.data = data.baseAddress
                desc.bytes = data.count
            }
        }, shape)
    }

    /// A tensor of weights, without a copy.
    public convenience init(_ backend: Backend, _ weights: Weights, _ name: String) throws {
        let shape = try weights.info(name).shape
        self.init(try name.withCString { name in
            try Matrix.make(backend) { desc in
                desc.weights = weights.handle
                desc.name = name
            }
        }, shape)
    }

    /// Levels and scales that lie apart, stored as dtype, or as the smallest type that keeps
    /// them; the report says what that changed.
    public convenience init(_ backend: Backend, _ split: SplitMatrix, _ dtype: DType? = nil) throws {
        var report = qtsa_split_report()
        let handle = try split.withC { c in
            try withUnsafePointer(to: c) { c in
                try withUnsafeMutablePointer(to: &report) { r in
                    try Matrix.make(backend) { desc in
                        desc.dtype = dtype?.rawValue ?? 0
                        (desc.split, desc.report) = (c, r)
                    }
                }
            }
        }
        self.init(handle, [split.nOut, split.nIn], SplitReport(report))
    }

    /// Of a matrix that was made of levels and scales: what became of them.
    public let split: SplitReport?

    private init(_ handle: OpaquePointer, _ shape: [Int], _ split: SplitReport? = nil) {
        self.handle = handle
        self.shape = shape
        self.split = split
    }

    private static func make(_ backend: Backend, _ describe: (inout qtsa_matrix_desc) throws -> Void) throws -> OpaquePointer {
        var desc = qtsa_matrix_desc_init()
        try describe(&desc)
        return try made { qtsa_matrix_create(backend.handle, &desc, $0) }
    }

    deinit { qtsa_matrix_free(handle) }

    /// What it takes on its device.
    public var bytes: Int {
        get throws {
            var n: UInt64 = 0
            try check(qtsa_matrix_bytes(handle, &n))
            return Int(n)
        }
    }
}

/// What is applied to a product's result.
public enum Activation: Int32, Sendable {
    case none = 0 // QTSA_ACTIVATION_NONE
    case relu = 1 // QTSA_ACTIVATION_RELU
    case silu = 2 // QTSA_ACTIVATION_SILU
    case gelu = 3 // QTSA_ACTIVATION_GELU, with the error function
    case geluTanh = 4 // QTSA_ACTIVATION_GELU_TANH, its approximation
    case sigmoid = 5 // QTSA_ACTIVATION_SIGMOID
    case tanh = 6 // QTSA_ACTIVATION_TANH
}

/// A product or convolution: activation(x weightᵀ + bias).
public struct Product: Sendable {
    public var weight: Matrix
    public var bias: [Float]
    public var activation: Activation

    /// The bias is [nOut], or empty.
    public init(_ weight: Matrix, bias: [Float] = [], _ activation: Activation = .none) {
        self.weight = weight
        self.bias = bias
        self.activation = activation
    }
}

/// What a call may do where the device is not worth its while, or cannot.
public struct CallOptions: OptionSet, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Throws NOT_WORTHWHILE for what `wants` advises against.
    public static let onlyIfWorthwhile = CallOptions(rawValue: Int32(QTSA_ONLY_IF_WORTHWHILE))
    /// Computes on the CPU what was declined, or what the device cannot.
    public static let onCPUIfDeclined = CallOptions(rawValue: Int32(QTSA_ON_CPU_IF_DECLINED))
}

/// An image [h*w, cIn] and how it is convolved; floor(k/2) zeros are put on each side.
public struct Image: Sendable {
    public var h, w, cIn, k, stride: Int

    public init(h: Int, w: Int, cIn: Int, k: Int, stride: Int = 1) {
        (self.h, self.w, self.cIn, self.k, self.stride) = (h, w, cIn, k, stride)
    }

    public var outH: Int { (h + k / 2 * 2 - k) / max(stride, 1) + 1 }
    public var outW: Int { (w + k / 2 * 2 - k) / max(stride, 1) + 1 }
}

/// What a convolution does to its input as it loads it.
public struct Norm: Sendable {
    public enum Kind: Int32, Sendable {
        case none = 0 // QTSA_NORM_NONE
        case group = 1 // QTSA_NORM_GROUP: over a group's channels of all pixels
        case layer = 2 // QTSA_NORM_LAYER: over the channels of each pixel
    }
    public var kind: Kind
    public var groups: Int
    public var eps: Double
    public var gamma, beta: [Float]
    public var silu: Bool

    /// gamma and beta are [cIn], or empty: 1 and 0.
    public init(_ kind: Kind, groups: Int = 1, eps: Double = 1e-5, gamma: [Float] = [], beta: [Float] = [], silu: Bool = false) {
        (self.kind, self.groups, self.eps, self.gamma, self.beta, self.silu) = (kind, groups, eps, gamma, beta, silu)
    }
}

/// A call is worthwhile whose operations are at least minFlops + flopsPerByte * the bytes
/// that it moves.
public struct Threshold: Equatable, Sendable {
    public var minFlops, flopsPerByte: Double
    public init(minFlops: Double, flopsPerByte: Double) {
        (self.minFlops, self.flopsPerByte) = (minFlops, flopsPerByte)
    }
}

/// An input of `Backend.run`.
public enum Operand {
    case array(any HostArray, DType, [Int])
    case matrix(Matrix)
    /// An optional input left out.
    case none

    /// Elements of f32.
    public static func f32(_ elements: [Float], _ shape: [Int]) -> Operand { .array(elements, .f32, shape) }
    /// Elements of i32: indices, positions.
    public static func i32(_ elements: [Int32], _ shape: [Int]) -> Operand { .array(elements, .i32, shape) }
}

/// Operator-level calls: single operators, arrays in and out. Calls from several threads
/// run side by side.
extension Backend {
    /// x [t, nIn] times a weight [nOut, nIn]: [t, nOut].
    public func matmul(_ x: [Float], _ weight: Matrix, _ options: CallOptions = []) throws -> [Float] {
        try matmul(x, [Product(weight)], options)[0]
    }

    /// x [t, nIn] times the weight of each product, in one submission: [t, nOut] each.
    public func matmul(_ x: [Float], _ products: [Product], _ options: CallOptions = []) throws -> [[Float]] {
        let nIn = products.first.map { $0.weight.shape.dropFirst().reduce(1, *) } ?? 1
        guard nIn > 0, x.count % nIn == 0 else { throw QtsError.shape("matmul: \(x.count) elements are no rows of \(nIn)") }
        return try withProducts(products, rows: x.count / nIn) { c in
            try ran(qtsa_matmul(handle, x, Int64(x.count / nIn), Int64(nIn), c.baseAddress, c.count, options.rawValue))
        }
    }

    /// Convolves an image: [outH*outW, nOut].
    public func conv2d(_ x: [Float], _ image: Image, _ product: Product, norm: Norm? = nil, _ options: CallOptions = []) throws -> [Float] {
        try expect(x.count, image.h * image.w * image.cIn, "conv2d: x")
        var geometry = qtsa_conv2d_geometry(
            struct_size: MemoryLayout<qtsa_conv2d_geometry>.size, h: Int64(image.h), w: Int64(image.w), c_in: Int64(image.cIn), k: Int64(image.k), stride: Int64(image.stride),
            oh: Int64(image.outH), ow: Int64(image.outW))
        return try withProducts([product], rows: max(image.outH, 0) * max(image.outW, 0)) { c in
            guard let norm else {
                return try ran(qtsa_conv2d(handle, x, &geometry, nil, c.baseAddress, options.rawValue))
            }
            try norm.gamma.isEmpty ? () : expect(norm.gamma.count, image.cIn, "conv2d: gamma")
            try norm.beta.isEmpty ? () : expect(norm.beta.count, image.cIn, "conv2d: beta")
            try norm.gamma.withUnsafeBufferPointer { gamma in
                try norm.beta.withUnsafeBufferPointer { beta in
                    var n = qtsa_conv2d_norm(
                        struct_size: MemoryLayout<qtsa_conv2d_norm>.size, kind: norm.kind.rawValue, silu: norm.silu ? 1 : 0, groups: Int64(norm.groups), eps: norm.eps,
                        gamma: norm.gamma.isEmpty ? nil : gamma.baseAddress, beta: norm.beta.isEmpty ? nil : beta.baseAddress)
                    try ran(qtsa_conv2d(handle, x, &geometry, &n, c.baseAddress, options.rawValue))
                }
            }
        }[0]
    }

    /// softmax(scale q kᵀ) v for each head: q is [tq, heads*headDim], k and v are
    /// [tk, kvHeads*headDim], and the result is like q. A scale of 0 means 1/√headDim.
    public func attention(
        _ q: [Float], _ k: [Float], _ v: [Float], heads: Int, kvHeads: Int, headDim: Int, causal: Bool = false,
        window: Int = 0, scale: Double = 0, _ options: CallOptions = []
    ) throws -> [Float] {
        guard heads > 0, kvHeads > 0, headDim > 0, q.count % (heads * headDim) == 0, k.count % (kvHeads * headDim) == 0
        else { throw QtsError.shape("attention: q or k is no whole number of positions") }
        try expect(v.count, k.count, "attention: v")
        var out = [Float](repeating: 0, count: q.count)
        try q.withUnsafeBufferPointer { q in
            try k.withUnsafeBufferPointer { k in
                try v.withUnsafeBufferPointer { v in
                    try out.withUnsafeMutableBufferPointer { out in
                        var desc = qtsa_attention_desc()
                        desc.struct_size = MemoryLayout<qtsa_attention_desc>.size
                        (desc.q, desc.k, desc.v, desc.out) = (q.baseAddress, k.baseAddress, v.baseAddress, out.baseAddress)
                        desc.tq = Int64(q.count / (heads * headDim))
                        desc.tk = Int64(k.count / (kvHeads * headDim))
                        (desc.heads, desc.kv_heads, desc.head_dim) = (Int64(heads), Int64(kvHeads), Int64(headDim))
                        (desc.causal, desc.window, desc.scale) = (causal ? 1 : 0, Int64(window), scale)
                        try ran(qtsa_attention(handle, &desc, options.rawValue))
                    }
                }
            }
        }
        return out
    }

    /// Runs any other operator of the table whose one output is f32, and gives that.
    public func run(
        _ op: String, _ inputs: [Operand], _ attributes: [Attribute] = [], shape: [Int], _ options: CallOptions = []
    ) throws -> [Float] {
        var values = [Float](repeating: 0, count: shape.reduce(1, *))
        try values.withUnsafeMutableBytes { try run(op, inputs, attributes, into: [($0, .f32, shape)], options) }
        return values
    }

    /// The same into memory of the caller's, with the type and shape that the operator gives.
    public func run(
        _ op: String, _ inputs: [Operand], _ attributes: [Attribute] = [],
        into outputs: [(UnsafeMutableRawBufferPointer, DType, [Int])], _ options: CallOptions = []
    ) throws {
        let c_outputs = try outputs.map { try operand(UnsafeRawBufferPointer($0.0), $0.1, $0.2) }
        try withAttributes(attributes) { attrs in
            try withOperands(inputs[...], []) { c_inputs in
                try ran(qtsa_op_run(
                    handle, op, c_inputs, c_inputs.count, attrs.baseAddress, attrs.count, c_outputs, c_outputs.count,
                    options.rawValue))
            }
        }
    }

    /// Whether the device should run a call; what the shape is, `qtsa_backend_wants` says.
    public func wants(_ op: String, _ shape: [Int]) throws -> Bool {
        var answer: Int32 = 0
        try check(qtsa_backend_wants(handle, op, shape.map(Int64.init), shape.count, &answer))
        return answer != 0
    }

    /// Overrules from when on an operator's calls are worthwhile, for all of its class. Those
    /// in force are in `stats`.
    public func setThreshold(_ op: String, _ threshold: Threshold) throws {
        try op.withCString { op in
            var t = qtsa_threshold(
                struct_size: MemoryLayout<qtsa_threshold>.size, op: op, min_flops: threshold.minFlops,
                flops_per_byte: threshold.flopsPerByte)
            try withUnsafePointer(to: &t) { t in
                var options = qtsa_calibrate_options_init()
                options.how = Calibration.keep.rawValue
                (options.thresholds, options.n_thresholds) = (t, 1)
                try check(qtsa_backend_calibrate(handle, &options))
            }
        }
    }

    /// Where thresholds come from.
    public enum Calibration: Int32, Sendable {
        case auto = 0 // QTSA_CALIBRATE_AUTO: measured once, then remembered
        case force = 1 // QTSA_CALIBRATE_FORCE: measured now
        case off = 2 // QTSA_CALIBRATE_OFF: built in
        case keep = 3 // QTSA_CALIBRATE_KEEP: as they are, or are found first
    }

    /// Makes the thresholds anew.
    public func calibrate(_ how: Calibration = .auto) throws {
        var options = qtsa_calibrate_options_init()
        options.how = how.rawValue
        try check(qtsa_backend_calibrate(handle, &options))
    }

    /// What the calls did since the backend was made or the last reset, and the thresholds in
    /// force; with reset it begins to count anew.
    public func stats(_ format: ReportFormat = .text, reset: Bool = false) throws -> String {
        let flags = Int32(reset ? QTSA_STATS_RESET : 0)
        return try text { qtsa_backend_stats_copy(handle, format.rawValue, flags, $0, $1, $2) }
    }
}

/// As check, for calls that may be declined, which has no words.
private func ran(_ status: qtsa_status) throws {
    if status == QtsError.notWorthwhile {
        throw QtsError(status: status, message: "the call is not worth the device's while")
    }
    try check(status)
}

private func expect(_ count: Int, _ want: Int, _ what: String) throws {
    if count != want { throw QtsError.shape("\(what) has \(count) elements, want \(want)") }
}

/// Products as C has them, and what they write.
private func withProducts(_ products: [Product], rows: Int, _ body: (UnsafeBufferPointer<qtsa_product>) throws -> Void) throws -> [[Float]] {
    let biases = UnsafeMutableBufferPointer<Float>.allocate(capacity: max(products.reduce(0) { $0 + $1.bias.count }, 1))
    let results = UnsafeMutableBufferPointer<Float>.allocate(capacity: max(products.reduce(0) { $0 + rows * $1.weight.shape[0] }, 1))
    results.initialize(repeating: 0)
    defer {
        biases.deallocate()
        results.deallocate()
    }
    var c: [qtsa_product] = [], bias = biases.baseAddress!, y = results.baseAddress!
    for (i, product) in products.enumerated() {
        let nOut = product.weight.shape[0]
        if !product.bias.isEmpty { try expect(product.bias.count, nOut, "the bias of product \(i)") }
        bias.initialize(from: product.bias, count: product.bias.count)
        c.append(qtsa_product(
            struct_size: MemoryLayout<qtsa_product>.size, weight: product.weight.handle, bias: product.bias.isEmpty ? nil : UnsafePointer(bias), y: y, n_out: Int64(nOut),
            activation: product.activation.rawValue, reserved: 0))
        bias += product.bias.count
        y += rows * nOut
    }
    try withExtendedLifetime(products) { try c.withUnsafeBufferPointer(body) }
    return c.map { Array(UnsafeBufferPointer(start: $0.y, count: rows * Int($0.n_out))) }
}

private func operand(_ data: UnsafeRawBufferPointer, _ dtype: DType, _ shape: [Int]) throws -> qtsa_operand {
    guard shape.count <= Int(QTSA_MAX_RANK) else { throw QtsError.shape("\(shape) has more dimensions than 4") }
    var bytes = 0
    try check(qtsa_tensor_bytes(dtype.rawValue, shape.map(Int64.init), Int32(shape.count), &bytes))
    if bytes != data.count { throw QtsError.shape("\(data.count) bytes are given for \(dtype) \(shape), which has \(bytes)") }
    var c = qtsa_operand()
    c.struct_size = MemoryLayout<qtsa_operand>.size
    c.dtype = dtype.rawValue
    c.rank = Int32(shape.count)
    withUnsafeMutableBytes(of: &c.shape) { $0.copyBytes(from: shape.map(Int64.init).withUnsafeBytes(Array.init)) }
    c.data = UnsafeMutableRawPointer(mutating: data.baseAddress)
    return c
}

/// Holds all operands in place at once.
private func withOperands(_ operands: ArraySlice<Operand>, _ done: [qtsa_operand], _ body: ([qtsa_operand]) throws -> Void) throws {
    switch operands.first {
    case nil: try body(done)
    case .some(.none):
        var c = qtsa_operand()
        c.struct_size = MemoryLayout<qtsa_operand>.size
        try withOperands(operands.dropFirst(), done + [c], body)
    case .matrix(let m):
        var c = qtsa_operand()
        c.struct_size = MemoryLayout<qtsa_operand>.size
        c.matrix = m.handle
        try withExtendedLifetime(m) { try withOperands(operands.dropFirst(), done + [c], body) }
    case .array(let array, let dtype, let shape):
        try array.withHostBytes { try withOperands(operands.dropFirst(), done + [operand($0, dtype, shape)], body) }
    }
}
