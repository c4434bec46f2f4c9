public import CertificatePinning
public import Logging
import Synchronization

/// Maps hosts to what their servers must satisfy: the caller's evaluators, and the pins of the account's hosts.
///
/// ```swift
/// let manager = ApproovTrustManager(
///     allHostsMustBeEvaluated: true,
///     evaluators: [
///         "payments.example.com": try PublicKeysTrustEvaluator(pins: [try Pin("sha256/…"), try Pin("sha256/…")]),
///         "*.example.org": DefaultTrustEvaluator(),
///     ])
/// ```
///
/// Hosts that the configuration protects need not be named: their pins are there from the initial configuration on and follow every
/// newer one. Every host is validated by path at least, also those that neither names.
public final class ApproovTrustManager: Sendable {
    /// Whether hosts are refused that have neither an evaluator nor an entry in the configuration.
    public let allHostsMustBeEvaluated: Bool
    private let patterns: Result<[(HostPattern, any ServerTrustEvaluating)], any Error>
    private let anchors: Mutex<TrustAnchors?>
    private let logger: Logger

    /// Maps hosts to evaluators.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether hosts are refused that have neither an evaluator nor an entry in the configuration.
    ///   - evaluators: Evaluators by host: `api.example.com`, `*.example.com` for one label more, or `**.example.com` for any number. A
    ///     malformed host is reported where the manager is first used: making a session with it throws.
    ///   - anchors: The roots that paths end in; nil: those of the system.
    ///   - logger: Where an evaluator that has no effect is reported.
    public init(
        allHostsMustBeEvaluated: Bool = false, evaluators: [String: any ServerTrustEvaluating] = [:], anchors: TrustAnchors? = nil,
        logger: Logger = Logger(label: "approov.trust")
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        patterns = Result { try evaluators.map { (try HostPattern($0.key), $0.value) } }
        self.anchors = Mutex(anchors)
        self.logger = logger
    }

    /// The policy for the account's hosts and the caller's evaluators together.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when a host among the evaluators is malformed or named twice, or there are no roots.
    func policy(protecting protectedHosts: [ProtectedHost]) throws -> TrustPolicy {
        do {
            let anchors = try anchors.withLock { anchors in
                let loaded = try anchors ?? TrustAnchors.system()
                anchors = loaded
                return loaded
            }
            let compiler = PolicyCompiler(
                evaluators: try patterns.get(), refusesUnmatchedHosts: allHostsMustBeEvaluated, anchors: anchors, logger: logger)
            return try compiler.policy(protecting: protectedHosts)
        } catch {
            throw ApproovError(.configurationError, "the trust manager cannot be used", cause: error)
        }
    }
}
