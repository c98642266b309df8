import CQtsAccel

/// A quantised matrix [nOut, nIn] as other systems keep it, levels and scales apart: each
/// value is scale * (level - zero) + offset. int8 with an f32 scale per 32 weights is
/// `SplitMatrix(nOut: n, nIn: m, levels: levels, scales: scales, .f32, block: 32, isSigned: true)`.
public struct SplitMatrix {
    /// Where the two levels of a byte are.
    public enum Nibbles: Int32, Sendable {
        case lowFirst = 0 // QTSA_NIBBLES_LOW_FIRST: level 2k in the low half of byte k, as MLX has it
        case highFirst = 1 // QTSA_NIBBLES_HIGH_FIRST: in the high half
        case halves = 2 // QTSA_NIBBLES_HALVES: of 16 bytes with 32 levels: k and k+16
    }
    public var nOut, nIn: Int
    /// n_in * bits / 8 bytes a row.
    public var levels: [UInt8]
    /// [nOut, nIn / block] of scaleDType, and offsets likewise, or nil.
    public var scales: any HostArray
    public var offsets: (any HostArray)?
    public var scaleDType: DType
    /// How many levels of a row a scale counts for; 0: nIn.
    public var block: Int
    /// 8 or 4.
    public var bits: Int
    /// Levels are two's complement.
    public var isSigned: Bool
    public var zero: Int
    public var nibbles: Nibbles

    public init(
        nOut: Int, nIn: Int, levels: [UInt8], scales: any HostArray, _ scaleDType: DType,
        offsets: (any HostArray)? = nil, block: Int = 0, bits: Int = 8, isSigned: Bool = false, zero: Int = 0,
        nibbles: Nibbles = .lowFirst
    ) {
        (self.nOut, self.nIn, self.levels, self.scales, self.scaleDType) = (nOut, nIn, levels, scales, scaleDType)
        (self.offsets, self.block, self.bits, self.isSigned) = (offsets, block, bits, isSigned)
        (self.zero, self.nibbles) = (zero, nibbles)
    }

    /// The matrix as C has it, for as long as body runs.
    func withC<R>(_ body: (inout qtsa_split_matrix) throws -> R) throws -> R {
        guard nOut > 0, nIn > 0, block >= 0, block <= nIn, bits == 8 || bits == 4 else {
            throw QtsError.shape("split matrix [\(nOut), \(nIn)] with blocks of \(block) and \(bits) bits")
        }
        let blocks = nIn / (block == 0 ? nIn : block)
        guard levels.count == nOut * nIn * bits / 8 else {
            throw QtsError.shape("\(levels.count) bytes of levels for [\(nOut), \(nIn)] of \(bits) bits")
        }
        var c = qtsa_split_matrix()
        c.struct_size = MemoryLayout<qtsa_split_matrix>.size
        (c.n_out, c.n_in, c.block) = (Int64(nOut), Int64(nIn), Int64(block))
        (c.bits, c.is_signed, c.zero) = (Int32(bits), isSigned ? 1 : 0, Int32(zero))
        (c.nibbles, c.scale_dtype) = (nibbles.rawValue, scaleDType.rawValue)
        // Dense: level_row, level_byte, scale_row and scale_column stay 0.
        var bytes = 0
        try check(qtsa_tensor_bytes(scaleDType.rawValue, [Int64(nOut), Int64(blocks)], 2, &bytes))
        return try levels.withUnsafeBytes { levels in
            try scales.withHostBytes { scales in
                guard scales.count == bytes else { throw QtsError.shape("scales have \(scales.count) bytes, want \(bytes)") }
                (c.levels, c.scales) = (levels.baseAddress, scales.baseAddress)
                guard let offsets else { return try body(&c) }
                return try offsets.withHostBytes { offsets in
                    guard offsets.count == bytes else { throw QtsError.shape("offsets have \(offsets.count) bytes, want \(bytes)") }
                    c.offsets = offsets.baseAddress
                    return try body(&c)
                }
            }
        }
    }
}

/// What became of a split matrix.
public struct SplitReport: Equatable, Sendable {
    /// The type that it is stored as.
    public let dtype: DType
    /// Every value is the f32 nearest to the matrix's own.
    public let exact: Bool
    public let bytes: Int
    public let maxAbsoluteError, maxRelativeError: Double

    init(_ raw: qtsa_split_report) {
        dtype = DType(rawValue: raw.dtype)
        exact = raw.exact != 0
        bytes = Int(raw.bytes)
        maxAbsoluteError = raw.max_absolute_error
        maxRelativeError = raw.max_relative_error
    }
}
