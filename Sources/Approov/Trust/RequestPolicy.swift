import CertificatePinning
import HTTPClient

/// The rules that apply to one request from beginning to end.
final class RequestPolicy: TransferRules {
    /// Decides which servers are trusted.
    let trust: TrustPolicy
    /// Decides which hosts get tokens; nil without a service.
    let snapshot: ConfigurationSnapshot?

    private let keeper: ConfigurationKeeper?

    init(trust: TrustPolicy, snapshot: ConfigurationSnapshot?, keeper: ConfigurationKeeper?) {
        self.trust = trust
        self.snapshot = snapshot
        self.keeper = keeper
    }

    /// Whether the configuration of these rules is still in force.
    var areInForce: Bool { keeper?.current === snapshot }
}
