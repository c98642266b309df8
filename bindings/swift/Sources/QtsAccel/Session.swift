import CQtsAccel
import Dispatch
import Foundation

/// Elements in host memory, one behind the other: arrays of numbers.
public protocol HostArray {
    func withHostBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension Array: HostArray where Element: Numeric {
    public func withHostBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeBytes(body)
    }
}

/// One stream of work on a backend: it owns the state of the graphs that run on it.
/// Every thread may use it; runs take turns.
public final class Session: @unchecked Sendable {
    let handle: OpaquePointer
    let queue = DispatchQueue(label: "qtsaccel.session")

    public init(_ backend: Backend) throws { handle = try made { qtsa_session_create(backend.handle, $0) } }

    deinit { qtsa_session_free(handle) }

    /// Sets all state to zero.
    public func reset() throws { try check(qtsa_session_reset(handle)) }

    /// Elements of a state, the first `count`.
    public func read<T: Numeric>(_ state: String, count: Int, as _: T.Type = T.self) throws -> [T] {
        var values = [T](repeating: 0, count: count)
        try values.withUnsafeMutableBytes { try check(qtsa_session_read(handle, state, 0, $0.baseAddress, $0.count)) }
        return values
    }

    /// Replaces the first elements of a state.
    public func write<C: HostArray>(_ state: String, _ values: C) throws {
        try values.withHostBytes { try check(qtsa_session_write(handle, state, 0, $0.baseAddress, $0.count)) }
    }

    /// Asks the run in progress, if any, to stop: it throws CANCELLED. Does not wait.
    public func cancel() throws { try check(qtsa_session_cancel(handle)) }
}

/// How long the parts of a run took, in nanoseconds.
public struct Timing: Equatable, Sendable {
    public let upload, compute, download: UInt64

    init(_ raw: qtsa_timing) { (upload, compute, download) = (raw.upload_ns, raw.compute_ns, raw.download_ns) }
}

/// A graph made ready on a session. Every thread may use it.
public final class Plan: @unchecked Sendable {
    let handle: OpaquePointer
    private let session: Session

    /// - Parameters:
    ///   - maxInstances: how many sets of values of the dynamic dimensions stay built (0: 32).
    ///   - strict: refuses operators that the device would leave to the CPU beside it.
    public init(_ session: Session, _ graph: Graph, maxInstances: Int = 0, strict: Bool = false) throws {
        self.session = session
        var options = qtsa_plan_options_init()
        options.max_instances = Int32(maxInstances)
        options.strict = strict ? 1 : 0
        handle = try made { qtsa_plan_create(session.handle, graph.handle, &options, $0) }
    }

    deinit { qtsa_plan_free(handle) }

    /// Builds ahead what runs with these values of the dynamic dimensions need.
    public func prepare(dims: [Int] = []) throws {
        try check(qtsa_plan_prepare(handle, dims.map(Int64.init), dims.count))
    }

    /// What an input is for values of the dynamic dimensions.
    public func inputInfo(_ index: Int, dims: [Int] = []) throws -> TensorInfo {
        try info(Int32(QTSA_INPUT), index, dims)
    }

    /// What an output is for values of the dynamic dimensions.
    public func outputInfo(_ index: Int, dims: [Int] = []) throws -> TensorInfo {
        try info(Int32(QTSA_OUTPUT), index, dims)
    }

    private func info(_ kind: Int32, _ index: Int, _ dims: [Int]) throws -> TensorInfo {
        var raw = qtsa_tensor_info()
        try check(qtsa_plan_info(handle, kind, index, dims.map(Int64.init), dims.count, &raw))
        return TensorInfo(raw)
    }

    /// The index of an input by its name.
    public func inputIndex(_ name: String) throws -> Int { try find(Int32(QTSA_INPUT), name) }

    /// The index of an output by its name.
    public func outputIndex(_ name: String) throws -> Int { try find(Int32(QTSA_OUTPUT), name) }

    private func find(_ kind: Int32, _ name: String) throws -> Int {
        var index = 0
        try check(qtsa_plan_find(handle, kind, name, &index))
        return index
    }

    /// What the plan is made of and where its nodes run.
    public func placement(_ format: ReportFormat = .text) throws -> String {
        try text { qtsa_plan_placement_copy(handle, format.rawValue, $0, $1, $2) }
    }

    /// Uploads, computes, and downloads into memory of the caller's: inputs and outputs
    /// are in the order in which the graph got them. The result is how long its parts took.
    @discardableResult
    public func run(
        _ inputs: [any HostArray], into outputs: [UnsafeMutableRawBufferPointer], dims: [Int] = [], threads: Int = 0
    ) throws -> Timing {
        var timing = qtsa_timing()
        let c_dims = dims.map(Int64.init)
        let c_outputs = outputs.map { qtsa_output(data: $0.baseAddress, bytes: $0.count) }
        try withPointers(inputs[...], []) { c_inputs in
            try c_dims.withUnsafeBufferPointer { d in
                var options = qtsa_run_options_init()
                options.dims = d.baseAddress
                options.n_dims = d.count
                options.threads = Int32(threads)
                try withUnsafeMutablePointer(to: &timing) { t in
                    options.timing = t
                    try check(qtsa_plan_run(handle, c_inputs, c_inputs.count, c_outputs, c_outputs.count, &options))
                }
            }
        }
        return Timing(timing)
    }

    /// The same for one output, whose elements come back.
    public func run<T: Numeric>(
        _ inputs: any HostArray..., as _: T.Type = T.self, dims: [Int] = [], threads: Int = 0
    ) throws -> [T] {
        try values(inputs, dims: dims, threads: threads)
    }

    private func values<T: Numeric>(_ inputs: [any HostArray], dims: [Int], threads: Int) throws -> [T] {
        let bytes = try outputInfo(0, dims: dims).bytes
        var values = [T](repeating: 0, count: bytes / MemoryLayout<T>.stride)
        try values.withUnsafeMutableBytes { _ = try run(inputs, into: [$0], dims: dims, threads: threads) }
        return values
    }

    /// The same beside the caller, on the session's own queue. A task that is cancelled
    /// stops its run and throws `CancellationError`.
    public func run<T: Numeric & Sendable>(
        _ inputs: [any HostArray & Sendable], as _: T.Type = T.self, dims: [Int] = [], threads: Int = 0
    ) async throws -> [T] {
        let turn = Turn(session)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                session.queue.async {
                    continuation.resume(with: Result {
                        try turn.take { try self.values(inputs, dims: dims, threads: threads) }
                    })
                }
            }
        } onCancel: {
            turn.cancel()
        }
    }

    /// Holds all arrays in place at once.
    private func withPointers(
        _ arrays: ArraySlice<any HostArray>, _ done: [qtsa_input], _ body: ([qtsa_input]) throws -> Void
    ) throws {
        guard let first = arrays.first else { return try body(done) }
        try first.withHostBytes {
            try withPointers(arrays.dropFirst(), done + [qtsa_input(data: $0.baseAddress, bytes: $0.count)], body)
        }
    }
}

/// A run that waits for its turn on a session, has it, or had it: only while it has it may
/// its task's end stop what runs there.
private final class Turn: @unchecked Sendable {
    private let session: Session
    private let lock = NSLock()
    private var running = false
    private var cancelled = false

    init(_ session: Session) { self.session = session }

    func take<R>(_ run: () throws -> R) throws -> R {
        try set { if cancelled { throw CancellationError() } else { running = true } }
        defer { set { running = false } }
        do {
            return try run()
        } catch let e as QtsError where e.status == QtsError.cancelled && set({ cancelled }) {
            throw CancellationError()
        }
    }

    func cancel() {
        set {
            cancelled = true
            if running { try? session.cancel() }
        }
    }

    private func set<R>(_ change: () throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try change()
    }
}
