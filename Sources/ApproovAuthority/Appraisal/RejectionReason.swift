/// A reason why well-formed evidence was rejected.
public enum RejectionReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The executable's measurement is not registered.
    case appNotRegistered = "app-not-registered"
    /// A debugger is attached.
    case debugger
    /// The process could not tell whether a debugger is attached.
    case debuggerUnknown = "debugger-unknown"
    /// `LD_PRELOAD` loads foreign code into the process.
    case preload = "ld-preload"
    /// The process could not tell whether `LD_PRELOAD` is set.
    case preloadUnknown = "ld-preload-unknown"
    /// The process runs as root.
    case root
    /// The registration of the executable has expired.
    case registrationExpired = "registration-expired"
    /// The device's policy is ``DevicePolicy/alwaysFail``.
    case alwaysFail = "always-fail"
    /// The proof of a development key is malformed, or was made with a key that is not the account's.
    case developmentKeyWrong = "development-key-wrong"
    /// The app has a development key, and the account's policy accepts none.
    case developmentKeyOff = "development-key-off"

    /// The name in results and logs.
    public var description: String { rawValue }

    /// The flags that an app reports about its environment, whose effect ``AuthorityStore/setEnvironmentAction(_:for:)`` sets.
    public static let environmentFlags = allCases.filter(\.isEnvironmentFlag)

    /// Whether the reason is a flag of the app's environment, not a finding of the authority.
    public var isEnvironmentFlag: Bool {
        switch self {
        case .debugger, .debuggerUnknown, .preload, .preloadUnknown, .root: true
        case .appNotRegistered, .registrationExpired, .alwaysFail, .developmentKeyWrong, .developmentKeyOff: false
        }
    }

    /// The reason's bit in an `ARC`.
    ///
    /// Bits are never reassigned.
    var bit: UInt16 {
        switch self {
        case .appNotRegistered: 1 << 0
        case .debugger: 1 << 1
        case .preload: 1 << 2
        case .root: 1 << 3
        case .debuggerUnknown: 1 << 4
        case .preloadUnknown: 1 << 5
        case .registrationExpired: 1 << 6
        case .alwaysFail: 1 << 7
        case .developmentKeyWrong: 1 << 8
        case .developmentKeyOff: 1 << 9
        }
    }
}
