import Attestation
import CertificatePinning

/// One host of the account, compiled.
final class ProtectedHost: Sendable {
    /// The name as the configuration spells it, which may be a pattern.
    let name: String
    let settings: HostSettings
    let pattern: HostPattern
    /// What the host's server must satisfy, whatever the caller's evaluators say.
    let rule: TrustRule
    /// The pins that its server is held to, sorted: its own, or the managed roots.
    let pins: [Pin]
    /// Whether nothing but this machine is meant.
    let isLoopback: Bool

    /// Compiles an entry.
    ///
    /// - Throws: `PinningError` for a malformed host, pin or certificate; ``ApproovError`` where neither pins nor managed roots are there.
    init(name: String, settings: HostSettings, managedRoots: Set<Pin>) throws {
        self.name = name
        self.settings = settings
        // The authority refused public suffixes when it signed; a name that became one since must not keep the app from starting.
        pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true)
        isLoopback = pattern.isLoopback
        // Pins are read even where they are not enforced: what is signed must make sense as a whole.
        let own = try Set(settings.pins.map { try Pin($0) })
        // One managed root is enough, as many servers' keys may lie below it.
        let effective = own.isEmpty ? managedRoots : own
        pins = effective.sorted { $0.description < $1.description }
        rule = TrustRule(
            evaluators: [try Self.evaluator(settings, pins: effective, needsBackup: !own.isEmpty)],
            anchors: try settings.trustRoots.map { try TrustAnchors(pem: $0) })
    }

    private static func evaluator(_ settings: HostSettings, pins: Set<Pin>, needsBackup: Bool) throws -> any ServerTrustEvaluating {
        guard settings.enforce else {
            return pins.isEmpty ? DefaultTrustEvaluator() : ReportOnlyTrustEvaluator(try PublicKeysTrustEvaluator(withoutBackup: pins))
        }
        guard !pins.isEmpty else {
            throw ApproovError(.configurationError, "it has no pins, and there are no managed trust roots: an empty list never means all")
        }
        return needsBackup ? try PublicKeysTrustEvaluator(pins: pins) : try PublicKeysTrustEvaluator(withoutBackup: pins)
    }
}
