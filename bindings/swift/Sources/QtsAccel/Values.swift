// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.

extension DType {
    public static let foreign = DType(rawValue: 0)
    public static let f32 = DType(rawValue: 1)
    public static let f16 = DType(rawValue: 2)
    public static let bf16 = DType(rawValue: 3)
    public static let i8 = DType(rawValue: 8)
    public static let i16 = DType(rawValue: 9)
    public static let i32 = DType(rawValue: 10)
    public static let i64 = DType(rawValue: 11)
    public static let q8_0 = DType(rawValue: 32)
    public static let q4_0 = DType(rawValue: 33)
    public static let q4_1 = DType(rawValue: 34)
    public static let q5_0 = DType(rawValue: 35)
    public static let q5_1 = DType(rawValue: 36)
    public static let iq4_nl = DType(rawValue: 64)
    public static let mxfp4 = DType(rawValue: 65)
    public static let q2_k = DType(rawValue: 48)
    public static let q3_k = DType(rawValue: 49)
    public static let q4_k = DType(rawValue: 50)
    public static let q5_k = DType(rawValue: 51)
    public static let q6_k = DType(rawValue: 52)
}

/// Values of `status`.
extension QtsError {
    public static let invalidArgument: Int32 = -1
    public static let invalidHandle: Int32 = -2
    public static let shapeMismatch: Int32 = -3
    public static let unsupported: Int32 = -4
    public static let notFound: Int32 = -5
    public static let outOfMemory: Int32 = -6
    public static let io: Int32 = -7
    public static let corrupt: Int32 = -8
    public static let deviceUnavailable: Int32 = -9
    public static let deviceLost: Int32 = -10
    public static let busy: Int32 = -11
    public static let cancelled: Int32 = -12
    public static let forked: Int32 = -13
    public static let notWorthwhile: Int32 = -14
    public static let alreadyExists: Int32 = -15
    public static let invalidState: Int32 = -16
    public static let timeout: Int32 = -17
    public static let versionMismatch: Int32 = -18
    public static let `internal`: Int32 = -19
}
