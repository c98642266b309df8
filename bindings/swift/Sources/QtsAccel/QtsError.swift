import CQtsAccel

/// What a call of the library failed with.
public struct QtsError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One of those below: `QtsError.shapeMismatch`.
    public let status: Int32
    /// The words: the operator, tensor or file, and the numbers.
    public let message: String

    /// The status' name: "SHAPE_MISMATCH".
    public var name: String { String(cString: qtsa_status_name(status)) }
    public var description: String { "\(name): \(message)" }

    /// For sizes that this package refuses itself.
    static func shape(_ message: String) -> QtsError { QtsError(status: shapeMismatch, message: message) }
}

/// Throws what the calling thread's last call failed with.
func check(_ status: qtsa_status) throws {
    if status != 0 {
        throw QtsError(status: status, message: String(cString: qtsa_last_error()))
    }
}

/// The object that a call makes.
func made(_ create: (UnsafeMutablePointer<OpaquePointer?>) -> qtsa_status) throws -> OpaquePointer {
    var handle: OpaquePointer?
    try check(create(&handle))
    return handle!
}

/// The text of a _copy function.
func text(_ copy: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>) -> qtsa_status) throws -> String {
    var size = 0
    try check(copy(nil, 0, &size))
    while true {
        var buffer = [CChar](repeating: 0, count: size)
        let status = copy(&buffer, buffer.count, &size)
        if status != 0 && size > buffer.count { continue } // it grew in between
        try check(status)
        return String(cString: buffer)
    }
}
