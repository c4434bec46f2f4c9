import Attestation
public import CertificatePinning
public import Foundation

/// A server that was refused, or would have been if its host's pins were enforced.
///
/// It holds what the server presented and what was expected; nothing of the request, its headers or its body.
public struct PinViolation: Sendable {
    /// The host that was asked for.
    public let host: String
    /// The port that was asked for.
    public let port: Int?
    /// The name or pattern whose rule decided, as the configuration or the trust manager spells it.
    public let notedHost: String
    /// Whether that entry is for the hosts below it, too.
    public let includesSubdomains: Bool
    /// Whether pins are enforced for the host; false: they are reported only.
    public let enforcesPins: Bool
    /// Whether the request was stopped.
    public let isRefused: Bool
    /// What is wrong: reason, certificates presented, pins expected, and what to do.
    public let refusal: TrustRefusal
    /// The validated path; where there is none, the certificates that the server sent.
    public let certificates: [Certificate]
    /// The pins of the host.
    public let knownPins: [Pin]
    /// When the pins are due for a change.
    public let pinsExpireAt: Date?
    /// When it happened.
    public let date: Date
    /// Whether path, host name and purpose held.
    public let isPathValidated: Bool
}

/// What is known of a rule beside what it judges by: what a violation of it is reported under.
struct NotedHost: Sendable {
    let name: String
    let includesSubdomains: Bool
    /// What the account says; nil for an evaluator of the caller's own, which says it by what it answers.
    let enforcesPins: Bool?
    let pins: [Pin]
    let pinsExpireAt: Date?

    /// An entry of the configuration.
    init(_ host: ProtectedHost) {
        name = host.name
        includesSubdomains = host.settings.includeSubdomains
        enforcesPins = host.settings.enforce
        pins = host.pins
        pinsExpireAt = host.settings.pinsExpireAt.map { Date(timeIntervalSince1970: TimeInterval($0)) }
    }

    /// The authority's server, whose pins are always enforced.
    init(authority: CanonicalHost, pins: [Pin]) {
        name = authority.name
        includesSubdomains = false
        enforcesPins = true
        self.pins = pins
        pinsExpireAt = nil
    }

    /// A host or pattern that the caller set an evaluator for.
    init(pattern: HostPattern) {
        name = pattern.forms[0]
        includesSubdomains = pattern.includesSubdomains
        enforcesPins = nil
        pins = []
        pinsExpireAt = nil
    }
}

extension PinViolation {
    init(_ violation: TrustViolation, noted: NotedHost) {
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
