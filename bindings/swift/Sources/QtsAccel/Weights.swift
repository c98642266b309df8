import CQtsAccel

/// The type of a tensor's elements.
public struct DType: RawRepresentable, Equatable, Sendable, CustomStringConvertible {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let f32 = DType(rawValue: Int32(QTSA_DTYPE_F32))
    public static let f16 = DType(rawValue: Int32(QTSA_DTYPE_F16))
    public static let bf16 = DType(rawValue: Int32(QTSA_DTYPE_BF16))
    public static let i32 = DType(rawValue: Int32(QTSA_DTYPE_I32))
    public static let i64 = DType(rawValue: Int32(QTSA_DTYPE_I64))
    /// Any other is `DType(rawValue: Int32(QTSA_DTYPE_Q8_0))`.
    public var description: String { String(cString: qtsa_dtype_name(rawValue)) }
}

/// What a tensor is. A dimension that depends on a dynamic one is -1.
public struct TensorInfo: Equatable, Sendable {
    public let dtype: DType
    public let shape: [Int]
    public let bytes: Int

    init(_ raw: qtsa_tensor_info) {
        dtype = DType(rawValue: raw.dtype)
        shape = withUnsafeBytes(of: raw.shape) { $0.bindMemory(to: Int64.self).prefix(Int(raw.rank)).map(Int.init) }
        bytes = Int(raw.bytes)
    }
}

/// Named tensors in host memory that belong to no backend. Every thread may use them.
public final class Weights: @unchecked Sendable {
    let handle: OpaquePointer

    /// Without a tensor, to be filled by `set`.
    public init() throws { handle = try made(qtsa_weights_create) }

    /// A GGUF or safetensors file.
    public init(path: String) throws { handle = try made { qtsa_weights_open(path, nil, $0) } }

    deinit { qtsa_weights_free(handle) }

    /// Adds a tensor with its elements.
    public func set<C: HostArray>(_ name: String, _ dtype: DType, _ shape: [Int], _ elements: C) throws {
        try check(qtsa_weights_declare(handle, name, dtype.rawValue, shape.map(Int64.init), Int32(shape.count)))
        try elements.withHostBytes { try check(qtsa_weights_set(handle, name, $0.baseAddress, $0.count)) }
    }

    public var count: Int {
        get throws {
            var n = 0
            try check(qtsa_weights_count(handle, &n))
            return n
        }
    }

    /// What the tensor of that name is.
    public func info(_ name: String) throws -> TensorInfo {
        var index = 0
        var raw = qtsa_tensor_info()
        try check(qtsa_weights_find(handle, name, &index))
        try check(qtsa_weights_info(handle, index, &raw))
        return TensorInfo(raw)
    }

    /// A metadata value of the file as text.
    public func metadata(_ key: String) throws -> String {
        try text { qtsa_weights_metadata_copy(handle, key, $0, $1, $2) }
    }
}
