import CertificatePinning
import HTTPClient
import Synchronization

/// Provides the newest policy to every request; compiles it once per configuration.
final class PolicySource: Sendable {
    private let manager: ApproovTrustManager
    private let keeper: ConfigurationKeeper?
    private let compiled: Mutex<RequestPolicy>

    /// Compiles the first policy.
    ///
    /// - Parameters:
    ///   - manager: The trust manager.
    ///   - keeper: Holds the configuration; nil without a service.
    /// - Throws: ``ApproovError`` with code `configurationError` when the trust manager cannot be used.
    init(manager: ApproovTrustManager, keeper: ConfigurationKeeper?) throws {
        self.manager = manager
        self.keeper = keeper
        let snapshot = keeper?.current
        let trust = try manager.policy(protecting: snapshot?.protectedHosts ?? [])
        compiled = Mutex(RequestPolicy(trust: trust, snapshot: snapshot, keeper: keeper))
        if let keeper { manager.listen(to: keeper.authorityViolations) }
    }

    /// Looks up a host under the configuration in force.
    ///
    /// - Throws: ``ApproovError`` with the code of ``current()``.
    func resolve(_ host: CanonicalHost) throws -> ResolvedHop { ResolvedHop(host, under: try current()) }

    /// Returns the policy for the configuration in force.
    ///
    /// - Throws: ``ApproovError`` with code `configurationError` when it does not compile. No request falls back to older rules.
    func current() throws -> RequestPolicy {
        try compiled.withLock { compiled in
            // Read the snapshot under the lock, so that of two concurrent requests the one with the older snapshot cannot write last.
            let snapshot = keeper?.current
            guard compiled.snapshot !== snapshot else { return compiled }
            let trust: TrustPolicy
            if let snapshot, let before = compiled.snapshot, snapshot.hasSameHosts(as: before) {
                // Keep the trust policy, and with it all connections, if the new version does not change any host.
                trust = compiled.trust
            } else {
                trust = try manager.policy(protecting: snapshot?.protectedHosts ?? [])
            }
            compiled = RequestPolicy(trust: trust, snapshot: snapshot, keeper: keeper)
            return compiled
        }
    }
}
