import CQtsAccel

/// Is told the bytes done, and all; true from it cancels.
public typealias Progress = (_ done: UInt64, _ total: UInt64) -> Bool

/// How a file of weights is opened.
public struct WeightsOptions: Sendable {
    /// Where tensors lie: as fits, copied into memory, or mapped and read when used.
    public enum Placement: Int32, Sendable {
        case auto = 0 // QTSA_PLACEMENT_AUTO
        case copied = 1 // QTSA_PLACEMENT_COPIED
        case mapped = 2 // QTSA_PLACEMENT_MAPPED
    }

    /// How tensors are taken in whose names match a pattern ("*" any text, "?" one byte).
    public struct Rule: Sendable {
        public var pattern: String
        public var dtype: DType?
        public var rename: String?
        /// Leaves the tensors out; dtype and rename are nil then.
        public var skip: Bool

        /// nil: as in the file.
        public init(_ pattern: String, dtype: DType? = nil, rename: String? = nil, skip: Bool = false) {
            (self.pattern, self.dtype, self.rename, self.skip) = (pattern, dtype, rename, skip)
        }
    }

    public var placement: Placement
    /// The bytes that tensors may take; 0: what is free.
    public var budget: Int
    public var rules: [Rule]
    /// How much the columns of tensors matter where a rule quantises them.
    public var importance: [String: [Float]]

    public init(placement: Placement = .auto, budget: Int = 0, rules: [Rule] = [], importance: [String: [Float]] = [:]) {
        (self.placement, self.budget, self.rules, self.importance) = (placement, budget, rules, importance)
    }

    /// The options as C has them, for as long as body runs.
    func withC<R>(_ progress: Progress?, _ body: (inout qtsa_weights_options) throws -> R) throws -> R {
        let memory = Arena()
        let c_rules = memory.array(rules.map {
            qtsa_weights_rule(
                struct_size: MemoryLayout<qtsa_weights_rule>.size,
                pattern: memory.text($0.pattern), rename: $0.rename.map(memory.text), dtype: $0.dtype?.rawValue ?? 0,
                flags: $0.skip ? Int32(QTSA_RULE_SKIP) : 0)
        })
        let c_importance = memory.array(importance.map {
            qtsa_importance(
                struct_size: MemoryLayout<qtsa_importance>.size, name: memory.text($0.key), columns: memory.array($0.value), n_columns: $0.value.count)
        })
        return try withProgress(progress) { callback, user in
            var c = qtsa_weights_options_init()
            c.placement = placement.rawValue
            c.budget_bytes = UInt64(budget)
            (c.rules, c.n_rules) = (c_rules, rules.count)
            (c.importance, c.n_importance) = (c_importance, importance.count)
            (c.progress, c.user) = (callback, user)
            return try withExtendedLifetime(memory) { try body(&c) }
        }
    }
}

/// A function of the host's as C calls it, for as long as body runs.
func withProgress<R>(
    _ progress: Progress?, _ body: (qtsa_progress_callback?, UnsafeMutableRawPointer?) throws -> R
) throws -> R {
    guard let progress else { return try body(nil, nil) }
    var told = progress
    return try withUnsafeMutablePointer(to: &told) { p in
        try body({ done, total, user in
            user!.assumingMemoryBound(to: Progress.self).pointee(done, total) ? 1 : 0
        }, UnsafeMutableRawPointer(p))
    }
}
