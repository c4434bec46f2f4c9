import Attestation
import CertificatePinning

/// The compiled rule of one host, or one host pattern, of the account.
final class ProtectedHost: Sendable {
    /// The name as spelled in the configuration; may be a pattern.
    let name: String
    let settings: HostSettings
    let pattern: HostPattern
    /// The trust rule for the host's server; it holds in addition to the caller's evaluators.
    let rule: TrustRule
    /// The pins that the server must match, sorted: the host's own, or else the managed roots.
    let pins: [Pin]
    /// Whether the pattern matches only loopback addresses.
    let isLoopback: Bool

    /// Compiles an entry.
    ///
    /// - Parameters:
    ///   - name: The host name or pattern.
    ///   - settings: What the configuration says about it.
    ///   - managedRoots: The pins to use if the entry has none.
    /// - Throws: `PinningError` for a malformed host, pin or certificate; ``ApproovError`` with code `configurationError` when pinning is
    ///   enforced and neither pins nor managed roots are given.
    init(name: String, settings: HostSettings, managedRoots: Set<Pin>) throws {
        self.name = name
        self.settings = settings
        // The authority refuses public suffixes when it signs. A name that became one later must not stop the app from starting.
        pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true)
        isLoopback = pattern.isLoopback
        // Parse the pins even if they are not enforced: a signed configuration must be valid as a whole.
        let own = try Set(settings.pins.map { try Pin($0) })
        // Own pins need a backup pin. One managed root needs none: many server keys can chain to it.
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
            throw ApproovError(
                .configurationError,
                "it has no pins, and there are no managed trust roots: give it two pins, or set managed trust roots")
        }
        return needsBackup ? try PublicKeysTrustEvaluator(pins: pins) : try PublicKeysTrustEvaluator(withoutBackup: pins)
    }
}
