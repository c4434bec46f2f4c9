import ApproovBase
public import Logging

/// DANGER: trusts every server, whoever answers.
///
/// For tests against a server that has no certificate to speak of.
///
/// As the only evaluator of a rule it switches path validation and the host name check off as well; beside others it does nothing.
/// It says so in the log, once for every host.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private let announced = AnnouncedHosts()
    private let logger: Logger

    /// Makes the evaluator with a logger of its own, "approov.trust".
    public init() { self.init(logger: Logger(label: "approov.trust")) }

    /// Makes the evaluator with a logger to complain to.
    public init(logger: Logger) { self.logger = logger }

    /// Trusts, and says so as an error in the log.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        guard announced.isNew(host) else { return .trusted }
        let name = LoggableText.quoted(host, limit: 253)
        if trust.isPathValidated {
            logger.warning("a DisabledTrustEvaluator beside other evaluators does nothing: remove it", metadata: ["host": "\(name)"])
        } else {
            logger.error(
                "TRUST IS DISABLED for this host: anybody can answer in its place; remove the DisabledTrustEvaluator",
                metadata: ["host": "\(name)"])
        }
        return .trusted
    }
}
