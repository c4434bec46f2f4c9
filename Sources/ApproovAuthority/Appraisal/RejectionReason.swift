/// Why well-formed evidence was not believed.
public enum RejectionReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The executable's measurement is not registered.
    case appNotRegistered = "app-not-registered"
    /// A debugger is attached.
    case debugger
    /// The process could not tell whether a debugger is attached.
    case debuggerUnknown = "debugger-unknown"
    /// `LD_PRELOAD` puts foreign code into the process.
    case preload = "ld-preload"
    /// The process could not tell whether `LD_PRELOAD` is set.
    case preloadUnknown = "ld-preload-unknown"
    /// The process runs as root.
    case root

    /// The name that results and logs carry.
    public var description: String { rawValue }

    /// The reason's bit in an `ARC`.
    ///
    /// A bit once given stays given.
    var bit: UInt16 {
        switch self {
        case .appNotRegistered: 1 << 0
        case .debugger: 1 << 1
        case .preload: 1 << 2
        case .root: 1 << 3
        case .debuggerUnknown: 1 << 4
        case .preloadUnknown: 1 << 5
        }
    }
}

/// What an environment flag does to the verdict.
public enum EnvironmentAction: String, Sendable, Hashable, CaseIterable {
    /// The evidence fails.
    case reject
    /// The token's `anno` names the flag.
    case annotate
    /// Nothing.
    case ignore
}
