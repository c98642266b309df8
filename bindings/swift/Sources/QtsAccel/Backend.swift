import CQtsAccel

/// A form of a report.
public enum ReportFormat: Int32, Sendable {
    case text = 0
    case json = 1
}

/// A chosen device with its threads and its memory. Every thread may use it.
public final class Backend: @unchecked Sendable {
    let handle: OpaquePointer
    private let owned: Bool

    /// - Parameters:
    ///   - name: "auto", "cpu", "cuda", "vulkan", "metal" or "reference"; nil: as the
    ///     environment says (`QTSACCEL_BACKEND`), else "auto".
    ///   - pluginDirectory: where the backend plugins are; nil: beside the library.
    ///   - threads: CPU threads of a run; 0: what the process may use.
    ///   - repack: whether a CPU keeps a second copy of quantised weights that products
    ///     read, rearranged for the processor, where that makes them quicker.
    public init(_ name: String? = nil, pluginDirectory: String? = nil, threads: Int = 0, repack: Bool = true) throws {
        var options = qtsa_backend_options()
        try check(qtsa_backend_options_init(&options, MemoryLayout<qtsa_backend_options>.size))
        options.threads = Int32(threads)
        options.repack = Int32(repack ? QTSA_REPACK_AUTO : QTSA_REPACK_NEVER)
        owned = true
        handle = try withOptional(name) { name in
            try withOptional(pluginDirectory) { folder in
                options.backend = name
                options.plugin_dir = folder
                return try made { qtsa_backend_create(&options, $0) }
            }
        }
    }

    private init(borrowed: OpaquePointer) {
        handle = borrowed
        owned = false
    }

    deinit { if owned { qtsa_backend_free(handle) } }

    /// Settles which backend the parts of a process use that do not know each other; nil:
    /// none. It is decided once: another throws ALREADY_EXISTS.
    public static func install(_ backend: Backend?) throws { try check(qtsa_backend_install(backend?.handle)) }

    /// The backend that was settled on, nil if it is none; NOT_FOUND if nothing is settled.
    public static var active: Backend? {
        get throws {
            var found: OpaquePointer?
            try check(qtsa_backend_get_active(&found))
            return found.map(Backend.init(borrowed:))
        }
    }

    /// What computes, and the device's own name: "cpu (AMD EPYC)".
    public var name: String {
        get throws { try text { qtsa_backend_name_copy(handle, $0, $1, $2) } }
    }

    /// How the backend was chosen and what it is.
    public func report(_ format: ReportFormat = .text) throws -> String {
        try text { qtsa_backend_report_copy(handle, format.rawValue, $0, $1, $2) }
    }
}

/// A string as C has it, or null.
func withOptional<R>(_ string: String?, _ body: (UnsafePointer<CChar>?) throws -> R) rethrows -> R {
    guard let string else { return try body(nil) }
    return try string.withCString { try body($0) }
}
