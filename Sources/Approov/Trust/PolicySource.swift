import CertificatePinning
import HTTPClient
import Synchronization

/// The rules that one request keeps to from its beginning to its end.
final class RequestPolicy: Sendable {
    /// Who may answer.
    let trust: TrustPolicy
    /// Who gets a token; nil without a service.
    let snapshot: ConfigurationSnapshot?

    init(trust: TrustPolicy, snapshot: ConfigurationSnapshot?) {
        self.trust = trust
        self.snapshot = snapshot
    }

    /// Refuses what would go over plain http although the host is protected or evaluated.
    ///
    /// - Throws: ``ApproovError`` `pinningError`, before any I/O.
    func checkScheme(of url: TransportURL) throws {
        guard !url.isSecure, trust.refusesUnmatchedHosts || trust.hasRule(for: url.host) else { return }
        throw ApproovError(
            .pinningError, "\(url.host) is a host whose server must be checked, and plain http cannot be checked: use https")
    }
}

/// Gives every request the newest policy, compiled once per configuration.
final class PolicySource: Sendable {
    private let manager: ApproovTrustManager
    private let keeper: ConfigurationKeeper?
    private let compiled: Mutex<RequestPolicy>

    /// Compiles the first policy.
    ///
    /// - Throws: ``ApproovError`` `configurationError` as the trust manager does.
    init(manager: ApproovTrustManager, keeper: ConfigurationKeeper?) throws {
        self.manager = manager
        self.keeper = keeper
        let snapshot = keeper?.current
        let trust = try manager.policy(protecting: snapshot?.protectedHosts ?? [])
        compiled = Mutex(RequestPolicy(trust: trust, snapshot: snapshot))
        if let keeper { manager.listen(to: keeper.authorityWatch) }
    }

    /// The policy of the configuration in force.
    ///
    /// - Throws: ``ApproovError`` `configurationError`; then no request can be made, rather than one under old rules.
    func current() throws -> RequestPolicy {
        try compiled.withLock { compiled in
            // Read under the lock: two requests must not put the older of two configurations last.
            let snapshot = keeper?.current
            guard compiled.snapshot !== snapshot else { return compiled }
            let trust: TrustPolicy
            if let snapshot, let before = compiled.snapshot, snapshot.hasSameHosts(as: before) {
                // A new version that says nothing new about hosts must not cost every connection.
                trust = compiled.trust
            } else {
                trust = try manager.policy(protecting: snapshot?.protectedHosts ?? [])
            }
            compiled = RequestPolicy(trust: trust, snapshot: snapshot)
            return compiled
        }
    }
}
