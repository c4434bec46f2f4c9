import Attestation
import CertificatePinning

/// One host of the account, compiled.
final class ProtectedHost: Sendable {
    /// The name as the configuration spells it: what tokens are asked for.
    let name: String
    let settings: HostSettings
    let pattern: HostPattern
    /// What the host's server must satisfy, whatever the caller's evaluators say.
    let rule: TrustRule
    /// The patterns of the entry in the order of ``PatternTable``: two when the hosts below it are meant as well.
    let patternTexts: [String]
    /// Whether nothing but this machine is meant.
    let isLoopback: Bool

    /// Compiles an entry.
    ///
    /// - Throws: `PinningError` for a malformed host, pin or certificate; ``ApproovError`` where neither pins nor managed roots are there.
    init(name: String, settings: HostSettings, managedRoots: Set<Pin>) throws {
        self.name = name
        self.settings = settings
        pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains)
        if settings.includeSubdomains {
            let base = try CanonicalHost(name).name
            patternTexts = [base, "**." + base]
        } else {
            patternTexts = [pattern.description]
        }
        let base = pattern.description.drop { $0 == "*" || $0 == "." }
        isLoopback = try CanonicalHost(settings.includeSubdomains ? name : String(base)).isLoopback
        rule = TrustRule(
            evaluators: [try Self.evaluator(settings, managedRoots: managedRoots)],
            anchors: try settings.trustRoots.map { try TrustAnchors(pem: $0) })
    }

    private static func evaluator(_ settings: HostSettings, managedRoots: Set<Pin>) throws -> any ServerTrustEvaluating {
        let pins = try Set(settings.pins.map { try Pin($0) })
        // One managed root is enough, as many servers' keys may lie below it.
        let effective = pins.isEmpty ? managedRoots : pins
        if settings.enforce {
            guard !effective.isEmpty else {
                throw ApproovError(
                    .configurationError, "it has no pins, and there are no managed trust roots: an empty list never means all")
            }
            return try pins.isEmpty ? PublicKeysTrustEvaluator(withoutBackup: effective) : PublicKeysTrustEvaluator(pins: effective)
        }
        return effective.isEmpty
            ? DefaultTrustEvaluator() : ReportOnlyTrustEvaluator(try PublicKeysTrustEvaluator(withoutBackup: effective))
    }
}
