import CQtsAccel

/// Tensors and the operators between them, each checked as it is added. Every thread
/// may use it.
public final class Graph: @unchecked Sendable {
    let handle: OpaquePointer

    /// The label names the graph in messages.
    public init(_ label: String = "graph") throws { handle = try made { qtsa_graph_create(label, $0) } }

    deinit { qtsa_graph_free(handle) }

    /// A dynamic dimension, to stand in shapes and attributes, also in expressions.
    public func dim(_ name: String, _ range: ClosedRange<Int>) throws -> Dim {
        var number: Int64 = 0
        try check(qtsa_graph_dim(handle, name, Int64(range.lowerBound), Int64(range.upperBound), &number))
        return Dim(graph: self, number: number)
    }

    /// An input that each run uploads.
    public func input(_ name: String, _ dtype: DType, _ shape: [any Size]) throws -> Tensor {
        try tensor { qtsa_graph_input(handle, name, dtype.rawValue, shape.map { $0.number }, Int32(shape.count), $0) }
    }

    /// State of the session that keeps its content between runs.
    public func state(_ name: String, _ dtype: DType, _ shape: [any Size]) throws -> Tensor {
        try tensor { qtsa_graph_state(handle, name, dtype.rawValue, shape.map { $0.number }, Int32(shape.count), $0) }
    }

    /// A tensor of the weights, which the graph keeps alive from then on.
    public func weight(_ weights: Weights, _ name: String) throws -> Tensor {
        try tensor { qtsa_graph_weight(handle, weights.handle, name, $0) }
    }

    /// Makes a tensor one that runs download.
    public func output(_ name: String, _ tensor: Tensor) throws {
        try check(qtsa_graph_output(handle, name, tensor.index))
    }

    private func tensor(_ add: (UnsafeMutablePointer<qtsa_tensor>) -> qtsa_status) throws -> Tensor {
        var index: qtsa_tensor = -1
        try check(add(&index))
        return Tensor(graph: self, index: index)
    }

    /// Adds an operator by name; `Ops` has a function for each.
    public func add(_ op: String, _ inputs: [Tensor?], _ attributes: [Attribute] = [], outputs: Int = 1) throws -> [Tensor] {
        var indices = inputs.map { $0?.index ?? -1 }
        while indices.last == -1 { indices.removeLast() }
        var out = [qtsa_tensor](repeating: -1, count: outputs)
        try withAttributes(attributes) { attrs in
            try check(qtsa_graph_op(handle, op, indices, indices.count, attrs.baseAddress, attrs.count, &out, outputs))
        }
        return out.map { Tensor(graph: self, index: $0) }
    }
}

/// A tensor of a graph.
public struct Tensor: Sendable {
    public let graph: Graph
    let index: qtsa_tensor

    public var info: TensorInfo {
        get throws {
            var raw = qtsa_tensor_info()
            try check(qtsa_graph_info(graph.handle, index, &raw))
            return TensorInfo(raw)
        }
    }

    public static func + (a: Tensor, b: Tensor) throws -> Tensor { try Ops.add(a, b) }
    public static func - (a: Tensor, b: Tensor) throws -> Tensor { try Ops.sub(a, b) }
    public static func * (a: Tensor, b: Tensor) throws -> Tensor { try Ops.mul(a, b) }
    public static func / (a: Tensor, b: Tensor) throws -> Tensor { try Ops.div(a, b) }
    public static prefix func - (a: Tensor) throws -> Tensor { try Ops.neg(a) }
    public static func + (a: Tensor, b: Double) throws -> Tensor { try Ops.scale(a, bias: b) }
    public static func * (a: Tensor, b: Double) throws -> Tensor { try Ops.scale(a, scale: b) }
}

/// An attribute of an operator.
public enum Attribute: Sendable {
    case int(String, any Size)
    case float(String, Double)
    case string(String, String)
    case ints(String, [any Size])
    case floats(String, [Double])
}

/// Attributes as C has them, for as long as body runs.
func withAttributes<R>(_ attributes: [Attribute], _ body: (UnsafeBufferPointer<qtsa_attr>) throws -> R) rethrows -> R {
    let memory = Arena()
    let list = attributes.map { a -> qtsa_attr in
        switch a {
        case .int(let name, let v): return qtsa_attr_int(memory.text(name), v.number)
        case .float(let name, let v): return qtsa_attr_float(memory.text(name), v)
        case .string(let name, let v): return qtsa_attr_string(memory.text(name), memory.text(v))
        case .ints(let name, let v): return qtsa_attr_ints(memory.text(name), memory.array(v.map { $0.number }), Int32(v.count))
        case .floats(let name, let v): return qtsa_attr_floats(memory.text(name), memory.array(v), Int32(v.count))
        }
    }
    return try withExtendedLifetime(memory) { try list.withUnsafeBufferPointer(body) }
}
