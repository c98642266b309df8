import CQtsAccel

/// A form of a report.
public enum ReportFormat: Int32, Sendable {
    case text = 0 // QTSA_FORMAT_TEXT
    case json = 1 // QTSA_FORMAT_JSON
}

/// How a backend is chosen and made; `qtsa_backend_options` has all the words.
public struct BackendOptions: Sendable {
    /// "auto", "cpu", "cuda", "vulkan", "metal" or "reference"; nil: as the environment says
    /// (`QTSACCEL_BACKEND`), else "auto".
    public var backend: String?
    /// Where the backend plugins are; nil: beside the library.
    public var pluginDirectory: String?
    /// CPU threads of a run; 0: what the process may use.
    public var threads = 0
    /// Tells through the log, or on stderr, what is chosen and where it runs.
    public var debug = false
    /// What "auto" tries: "cuda, cpu".
    public var fallback: String?
    /// A GPU's index, PCI id or UUID.
    public var device: String?
    /// How GPUs are proven: "require", "auto" or "off".
    public var probe: String?
    /// Whether a CPU keeps a second copy of quantised weights that products read, rearranged
    /// for the processor, where that makes them quicker.
    public var repack = true
    /// The bytes of the device that weights may take; 0: what it has.
    public var weightsBudget = 0

    public init() {}

    /// The options as C has them, for as long as body runs.
    func withC<R>(_ body: (inout qtsa_backend_options) throws -> R) rethrows -> R {
        let memory = Arena()
        var c = qtsa_backend_options_init()
        c.backend = backend.map(memory.text)
        c.plugin_dir = pluginDirectory.map(memory.text)
        c.threads = Int32(threads)
        c.debug = debug ? 1 : 0
        c.fallback = fallback.map(memory.text)
        c.device = device.map(memory.text)
        c.probe = probe.map(memory.text)
        c.repack = Int32(repack ? QTSA_REPACK_AUTO : QTSA_REPACK_NEVER)
        c.weights_budget_bytes = UInt64(weightsBudget)
        return try withExtendedLifetime(memory) { try body(&c) }
    }
}

/// A chosen device with its threads and its memory. Every thread may use it.
public final class Backend: @unchecked Sendable {
    let handle: OpaquePointer
    private let owned: Bool

    public init(_ options: BackendOptions) throws {
        owned = true
        handle = try options.withC { c in try made { qtsa_backend_create(&c, $0) } }
    }

    /// The same by a few of the options.
    public convenience init(
        _ name: String? = nil, pluginDirectory: String? = nil, threads: Int = 0, repack: Bool = true
    ) throws {
        var options = BackendOptions()
        (options.backend, options.pluginDirectory) = (name, pluginDirectory)
        (options.threads, options.repack) = (threads, repack)
        try self.init(options)
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
        get throws { String(try report().prefix { $0 != "\n" }) }
    }

    /// How the backend was chosen and what it is.
    public func report(_ format: ReportFormat = .text) throws -> String {
        try text { qtsa_backend_report_copy(handle, format.rawValue, $0, $1, $2) }
    }
}
