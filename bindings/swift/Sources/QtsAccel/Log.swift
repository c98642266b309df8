import CQtsAccel
import Foundation

/// The library's log and version.
public enum Library {
    /// How grave a line is.
    public enum Level: Int32, Sendable {
        case debug = 1 // QTSA_LOG_DEBUG
        case info = 2 // QTSA_LOG_INFO
        case warn = 3 // QTSA_LOG_WARN
        case error = 4 // QTSA_LOG_ERROR
    }

    /// major * 10000 + minor * 100 + patch of the library that was loaded.
    public static var version: Int { Int(qtsa_version()) }

    /// Throws VERSION_MISMATCH where the library is older than the header that this package
    /// was compiled with, or of another major number.
    public static func requireVersion() throws {
        let wanted = Int32(QTSA_VERSION_MAJOR * 10000 + QTSA_VERSION_MINOR * 100 + QTSA_VERSION_PATCH)
        let status = qtsa_version_require(wanted)
        if status != 0 {
            throw QtsError(status: status, message: "version \(wanted) or later is wanted, the library is \(version)")
        }
    }

    /// Sets where log lines go, for the whole process; nil: nowhere. They come from any
    /// thread, several at once, and what calls the library from there throws INVALID_STATE.
    public static func setLog(_ tell: (@Sendable (Level, String) -> Void)?) throws { try sink.set(tell) }

    private static let sink = LogSink()
}

/// Keeps the function that the library calls.
private final class LogSink: @unchecked Sendable {
    private final class Target {
        let tell: @Sendable (Library.Level, String) -> Void
        init(_ tell: @escaping @Sendable (Library.Level, String) -> Void) { self.tell = tell }
    }
    private let lock = NSLock()
    private var target: Target?

    func set(_ tell: (@Sendable (Library.Level, String) -> Void)?) throws {
        lock.lock()
        defer { lock.unlock() }
        let next = tell.map(Target.init)
        guard let next else {
            try check(qtsa_set_log_callback(nil, nil))
            target = nil
            return
        }
        try check(qtsa_set_log_callback({ level, text, user in
            let to = Unmanaged<Target>.fromOpaque(user!).takeUnretainedValue()
            to.tell(Library.Level(rawValue: level) ?? .info, String(cString: text!))
        }, Unmanaged.passUnretained(next).toOpaque()))
        target = next // the one before is no longer in use
    }
}
