import Attestation
public import CertificatePinning
public import Foundation

/// A server that was refused, or would have been if its host's pins were enforced.
///
/// It contains what the server presented and what was expected, and nothing of the request.
public struct PinViolation: Sendable {
    /// The requested host.
    public let host: String
    /// The requested port.
    public let port: Int?
    /// The host or pattern of the rule that decided, as spelled in the configuration or in the trust manager.
    public let notedHost: String
    /// Whether that rule includes subdomains.
    public let includesSubdomains: Bool
    /// Whether the host's pins are enforced; if not, they are only reported.
    public let enforcesPins: Bool
    /// Whether the request was stopped.
    public let isRefused: Bool
    /// The reason, the presented certificates, the expected pins and the remedy.
    public let refusal: TrustRefusal
    /// The validated path; without one, the certificates that the server sent.
    public let certificates: [Certificate]
    /// The pins of the host.
    public let knownPins: [Pin]
    /// The date by which the pins should be replaced.
    public let pinsExpireAt: Date?
    /// When the violation happened.
    public let date: Date
    /// Whether the certificate path, host name and purpose were valid.
    public let isPathValidated: Bool
}

extension PinViolation {
    /// The facts about a rule that its violations are reported with.
    struct ObservedHost: Sendable {
        let name: String
        let includesSubdomains: Bool
        /// Whether the configuration enforces the pins; nil for the caller's own evaluator, whose answer decides.
        let enforcesPins: Bool?
        let pins: [Pin]
        let pinsExpireAt: Date?

        /// The facts about an entry of the configuration.
        init(_ host: ProtectedHost) {
            name = host.name
            includesSubdomains = host.settings.includeSubdomains
            enforcesPins = host.settings.enforce
            pins = host.pins
            pinsExpireAt = host.settings.pinsExpireAt.map { Date(timeIntervalSince1970: TimeInterval($0)) }
        }

        /// The facts about the authority's server, whose pins are always enforced.
        init(authority: CanonicalHost, pins: [Pin]) {
            name = authority.name
            includesSubdomains = false
            enforcesPins = true
            self.pins = pins
            pinsExpireAt = nil
        }

        /// The facts about a pattern with the caller's own evaluator.
        init(pattern: HostPattern) {
            name = pattern.forms[0]
            includesSubdomains = pattern.includesSubdomains
            enforcesPins = nil
            pins = []
            pinsExpireAt = nil
        }
    }

    init(_ violation: TrustViolation, noted: ObservedHost) {
        host = violation.host.name
        port = violation.port
        notedHost = noted.name
        includesSubdomains = noted.includesSubdomains
        enforcesPins = noted.enforcesPins ?? violation.isEnforced
        isRefused = violation.isEnforced
        refusal = violation.refusal
        certificates = violation.certificates
        knownPins = violation.refusal.expected.isEmpty ? noted.pins : violation.refusal.expected
        pinsExpireAt = noted.pinsExpireAt
        date = violation.time
        isPathValidated = violation.isPathValidated
    }
}
