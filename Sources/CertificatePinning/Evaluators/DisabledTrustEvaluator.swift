import ApproovBase
public import Logging

/// DANGER: trusts every server, including an attacker's.
///
/// Use it only for tests against a server without a usable certificate.
///
/// As the only evaluator of a rule it also disables path validation and the host name check; beside others it has no effect.
/// It logs this once per host.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private let announced = AnnouncedHosts()
    private let logger: Logger

    /// Makes the evaluator with a new logger, "approov.trust".
    public init() { self.init(logger: Logger(label: "approov.trust")) }

    /// Makes the evaluator with the logger that it warns to.
    public init(logger: Logger) { self.logger = logger }

    /// Trusts the server, and logs once per host: an error when trust is disabled, a warning when it has no effect beside other evaluators.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        guard announced.isNew(host) else { return .trusted }
        let name = LoggableText.quoted(host, limit: LoggableText.longestHost)
        if trust.isPathValidated {
            logger.warning("a DisabledTrustEvaluator has no effect beside other evaluators; remove it", metadata: ["host": "\(name)"])
        } else {
            logger.error(
                "TRUST IS DISABLED for this host, so any server can answer in its place; remove the DisabledTrustEvaluator",
                metadata: ["host": "\(name)"])
        }
        return .trusted
    }
}
