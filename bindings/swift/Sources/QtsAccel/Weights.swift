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
            var options = qtsa_upload_options_init()
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
        try elements.withHostBytes { data in
            try withArray(dtype, shape, data) { a in try check(qtsa_weights_add(handle, name, &a)) }
        }
    }

    /// Adds a tensor whose elements are given later, by `setArray`.
    public func declare(_ name: String, _ dtype: DType, _ shape: [Int]) throws {
        try withArray(dtype, shape, UnsafeRawBufferPointer(start: nil, count: 0)) { a in
            try check(qtsa_weights_add(handle, name, &a))
        }
    }

    /// Gives a tensor the elements of an array, which may be of another type: converted. With
    /// strides, the bytes from one element to the next along each dimension, it is
    /// transposed, sliced, or reversed; the element with all indices 0 is at offset, in bytes.
    public func setArray<C: HostArray>(
        _ name: String, _ dtype: DType, _ elements: C, strides: [Int]? = nil, offset: Int = 0
    ) throws {
        try elements.withHostBytes { data in
            guard let strides else {
                return try withArray(dtype, [], data) { a in try check(qtsa_weights_set(handle, name, &a)) }
            }
            let shape = try info(name).shape
            try expectInside(shape, strides, offset, data.count, name)
            try strides.map(Int64.init).withUnsafeBufferPointer { c_strides in
                var a = qtsa_array_dense(dtype.rawValue, nil, 0, data.baseAddress.map { $0 + offset }, 0)
                a.strides = c_strides.baseAddress
                try check(qtsa_weights_set(handle, name, &a))
            }
        }
    }

    /// Lends memory for a tensor, which is used where it lies if it is aligned to 32 and must
    /// not change; release is called, from any thread, once nothing uses it any more.
    public func lend(
        _ name: String, _ dtype: DType, _ shape: [Int], _ memory: UnsafeRawBufferPointer,
        release: @escaping @Sendable () -> Void
    ) throws {
        let lent = Unmanaged.passRetained(Lent(release))
        do {
            try withArray(dtype, shape, memory) { a in
                a.release = { user in Unmanaged<Lent>.fromOpaque(user!).takeRetainedValue().release() }
                a.user = lent.toOpaque()
                try check(qtsa_weights_add(handle, name, &a))
            }
        } catch {
            lent.release()
            throw error
        }
    }

    /// Adds a matrix whose levels and scales lie apart, as dtype, or as the smallest type that
    /// keeps it. The report says what that changed.
    @discardableResult
    public func addSplit(_ name: String, _ matrix: SplitMatrix, _ dtype: DType? = nil) throws -> SplitReport {
        try matrix.withC { c in
            var report = qtsa_split_report()
            try check(qtsa_weights_add_split(handle, name, &c, dtype?.rawValue ?? 0, &report))
            return SplitReport(report)
        }
    }

    private var counts: (tensors: Int, metadata: Int) {
        get throws {
            var tensors = 0, metadata = 0
            try check(qtsa_weights_count(handle, &tensors, &metadata))
            return (tensors, metadata)
        }
    }

    /// The number of tensors.
    public var count: Int { get throws { try counts.tensors } }

    /// The names of the tensors, in their order.
    public var names: [String] {
        get throws { try (0..<counts.tensors).map { i in try name(Int32(QTSA_NAME_TENSOR), i) } }
    }

    /// The keys of the metadata, in the order of the file.
    public var metadataKeys: [String] {
        get throws { try (0..<counts.metadata).map { i in try name(Int32(QTSA_NAME_METADATA), i) } }
    }

    private func name(_ kind: Int32, _ index: Int) throws -> String {
        try text { qtsa_weights_name_copy(handle, kind, index, $0, $1, $2) }
    }

    /// What the tensor of that name is.
    public func info(_ name: String) throws -> TensorInfo {
        var raw = qtsa_tensor_info()
        try check(qtsa_weights_info(handle, name, 0, &raw))
        return TensorInfo(raw)
    }

    /// A metadata value of the file as text.
    public func metadata(_ key: String) throws -> String {
        try text { qtsa_weights_metadata_copy(handle, key, -1, $0, $1, $2) } // QTSA_WHOLE
    }

    /// One of an array of strings, or a string with index 0.
    public func metadataString(_ key: String, _ index: Int = 0) throws -> String {
        try text { qtsa_weights_metadata_copy(handle, key, Int64(index), $0, $1, $2) }
    }

    /// A whole number, or all of an array.
    public func metadataInts(_ key: String) throws -> [Int] {
        try metadataList(key, Int32(QTSA_METADATA_INT), Int64(0)).map(Int.init)
    }

    /// A real number, or all of an array.
    public func metadataFloats(_ key: String) throws -> [Double] {
        try metadataList(key, Int32(QTSA_METADATA_FLOAT), 0.0)
    }

    /// A boolean, or all of an array.
    public func metadataBools(_ key: String) throws -> [Bool] {
        try metadataList(key, Int32(QTSA_METADATA_BOOL), Int32(0)).map { $0 != 0 }
    }

    private func metadataList<T>(_ key: String, _ type: Int32, _ zero: T) throws -> [T] {
        var count = 0
        try check(qtsa_weights_metadata_get(handle, key, type, nil, 0, &count))
        var values = [T](repeating: zero, count: count)
        if count > 0 {
            try values.withUnsafeMutableBytes {
                try check(qtsa_weights_metadata_get(handle, key, type, $0.baseAddress, count, &count))
            }
        }
        return values
    }

    /// What the metadata value of a key is.
    public func metadataInfo(_ key: String) throws -> MetadataInfo {
        var raw = qtsa_metadata_info()
        try check(qtsa_weights_metadata_info(handle, key, &raw))
        return MetadataInfo(raw)
    }
}

/// What a metadata value is or, of an array, its elements are.
public struct MetadataInfo: Equatable, Sendable {
    public enum Kind: Int32, Sendable {
        case int = 1 // QTSA_METADATA_INT
        case float = 2 // QTSA_METADATA_FLOAT
        case bool = 3 // QTSA_METADATA_BOOL
        case string = 4 // QTSA_METADATA_STRING
        case array = 5 // QTSA_METADATA_ARRAY, arrays in an array
    }
    /// nil: a type that this package does not know yet.
    public let type: Kind?
    public let isArray: Bool
    /// Of an array's elements; 1 of what is none.
    public let count: Int
    /// How the file has them: "u32", "f64", "string".
    public let stored: String

    init(_ raw: qtsa_metadata_info) {
        type = Kind(rawValue: raw.type)
        isArray = raw.is_array != 0
        count = Int(raw.count)
        stored = fixedText(raw.stored)
    }
}

/// What is called when lent memory is free again.
private final class Lent {
    let release: @Sendable () -> Void
    init(_ release: @escaping @Sendable () -> Void) { self.release = release }
}

/// A dense array as C has it, for as long as body runs. No shape: that of the tensor that
/// is there.
private func withArray<R>(
    _ dtype: DType, _ shape: [Int], _ data: UnsafeRawBufferPointer, _ body: (inout qtsa_array) throws -> R
) throws -> R {
    guard shape.count <= Int(QTSA_MAX_RANK) else { throw QtsError.shape("\(shape) has more dimensions than 4") }
    var a = qtsa_array_dense(dtype.rawValue, shape.map(Int64.init), Int32(shape.count), data.baseAddress, data.count)
    return try body(&a)
}

/// Refuses strides that lead out of the elements.
private func expectInside(_ shape: [Int], _ strides: [Int], _ offset: Int, _ bytes: Int, _ name: String) throws {
    guard strides.count == shape.count else {
        throw QtsError.shape("\(name): \(strides.count) strides for \(shape.count) dimensions")
    }
    var first = offset, last = offset
    for (n, stride) in zip(shape, strides) {
        let (span, over) = (n - 1).multipliedReportingOverflow(by: stride)
        guard !over, abs(span) <= bytes else { throw QtsError.shape("\(name): stride \(stride) leads out of the array") }
        if span < 0 { first += span } else { last += span }
    }
    guard first >= 0, last < bytes else { throw QtsError.shape("\(name): the strides lead out of the array") }
}
