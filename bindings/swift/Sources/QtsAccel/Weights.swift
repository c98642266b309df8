import CQtsAccel

/// The type of a tensor's elements.
public struct DType: RawRepresentable, Equatable, Sendable, CustomStringConvertible {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

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

    /// A GGUF or safetensors file, or a model in parts.
    public init(path: String, _ options: WeightsOptions = WeightsOptions(), progress: Progress? = nil) throws {
        handle = try options.withC(progress) { c in try made { qtsa_weights_open(path, &c, $0) } }
    }

    /// What opening a file would take.
    public static func memory(path: String, _ options: WeightsOptions = WeightsOptions()) throws -> qtsa_weights_memory {
        var memory = qtsa_weights_memory()
        try options.withC(nil) { c in try check(qtsa_weights_plan_memory(path, &c, &memory)) }
        return memory
    }

    /// Writes a GGUF file; metadata is added, or takes the place of what there is.
    public func save(path: String, metadata: [Attribute] = [], progress: Progress? = nil) throws {
        try withAttributes(metadata) { attrs in
            try withProgress(progress) { callback, user in
                try check(qtsa_weights_save(handle, path, attrs.baseAddress, attrs.count, callback, user))
            }
        }
    }

    /// Puts tensors onto a backend's device ahead of plans: those whose names match a
    /// pattern, or all.
    public func upload(_ backend: Backend, _ patterns: String..., progress: Progress? = nil) throws {
        let memory = Arena()
        let c_patterns = memory.array(patterns.map { Optional(memory.text($0)) })
        try withProgress(progress) { callback, user in
            var options = qtsa_upload_options()
            options.struct_size = MemoryLayout<qtsa_upload_options>.size
            (options.patterns, options.n_patterns) = (c_patterns, patterns.count)
            (options.progress, options.user) = (callback, user)
            try withExtendedLifetime(memory) { try check(qtsa_weights_upload(handle, backend.handle, &options)) }
        }
    }

    /// What the weights take of a backend's memory.
    public func deviceBytes(_ backend: Backend) throws -> Int {
        var n: UInt64 = 0
        try check(qtsa_weights_device_bytes(handle, backend.handle, &n))
        return Int(n)
    }

    /// What became of each tensor of the file.
    public func report(_ format: ReportFormat = .text) throws -> String {
        try text { qtsa_weights_report_copy(handle, format.rawValue, $0, $1, $2) }
    }

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
