import CQtsAccel

/// What shapes and attributes are made of: whole numbers, and dynamic dimensions with
/// expressions of them.
public protocol Size: Sendable {
    /// What stands for it in the C API.
    var number: Int64 { get }
}

extension Int: Size {
    public var number: Int64 { Int64(self) }
}

/// A dynamic dimension of a graph, or an expression of such: `n + 1`, `2 * n`, `n / 2`
/// where it divides. It stands in shapes and attributes of its graph, and each run gives
/// its value. Equal expressions are equal.
public struct Dim: Size, Hashable, CustomStringConvertible {
    public let graph: Graph
    public let number: Int64

    private static func join(_ op: Int, _ graph: Graph, _ a: any Size, _ b: any Size) throws -> Dim {
        var made: Int64 = 0
        try check(qtsa_graph_dim_op(graph.handle, Int32(op), a.number, b.number, &made))
        return Dim(graph: graph, number: made)
    }

    public static func + (a: Dim, b: any Size) throws -> Dim { try join(Int(QTSA_DIM_ADD), a.graph, a, b) }
    public static func + (a: Int, b: Dim) throws -> Dim { try join(Int(QTSA_DIM_ADD), b.graph, a, b) }
    public static func - (a: Dim, b: any Size) throws -> Dim { try join(Int(QTSA_DIM_SUB), a.graph, a, b) }
    public static func - (a: Int, b: Dim) throws -> Dim { try join(Int(QTSA_DIM_SUB), b.graph, a, b) }
    public static func * (a: Dim, b: any Size) throws -> Dim { try join(Int(QTSA_DIM_MUL), a.graph, a, b) }
    public static func * (a: Int, b: Dim) throws -> Dim { try join(Int(QTSA_DIM_MUL), b.graph, a, b) }
    public static func / (a: Dim, b: any Size) throws -> Dim { try join(Int(QTSA_DIM_DIV), a.graph, a, b) }
    public static func / (a: Int, b: Dim) throws -> Dim { try join(Int(QTSA_DIM_DIV), b.graph, a, b) }

    public static func == (a: Dim, b: Dim) -> Bool { a.graph === b.graph && a.number == b.number }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(graph))
        hasher.combine(number)
    }

    /// As messages have it: "2*n + 1".
    public var description: String {
        (try? text { qtsa_graph_dim_text_copy(graph.handle, number, $0, $1, $2) }) ?? "a dimension"
    }
}
