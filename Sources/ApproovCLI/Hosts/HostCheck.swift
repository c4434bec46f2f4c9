import Attestation
import CertificatePinning
import Foundation

/// Finds present and coming problems with a host's pins, given the certificates that its server presents now.
struct HostCheck {
    /// One problem.
    struct Finding: Encodable, Equatable {
        enum Kind: String, Encodable {
            /// Apps refuse the server now.
            case pathInvalid, noMatch
            /// Requests over the relay fail now.
            case keyRefused, relayFailed
            /// Apps will refuse the server at its next change of key, or soon.
            case noBackupPin, certificateExpiring, pinsExpiring
        }

        let kind: Kind
        let message: String
    }

    /// The pins in force: the host's own, or the managed roots.
    let pins: [Pin]
    let settings: HostSettings
    let presented: PresentedChain
    let now: Date
    /// The number of days ahead that count as soon.
    let days: Int

    /// All problems; empty when there are none.
    var findings: [Finding] { pathFindings + pinFindings + expiryFindings }

    /// The problems of a server that no pins apply to.
    var unpinnedFindings: [Finding] { pathFindings + expiryFindings }

    /// Whether apps are refused now.
    var isBroken: Bool { findings.contains(where: breaksNow) }

    /// Whether a problem keeps apps from the host now.
    func breaksNow(_ finding: Finding) -> Bool {
        switch finding.kind {
        case .pathInvalid, .keyRefused, .relayFailed: true
        case .noMatch: settings.enforce
        case .noBackupPin, .certificateExpiring, .pinsExpiring: false
        }
    }

    /// Whether a pinned key is not in use, and so can replace those in use; a single managed root leaves no backup.
    var hasBackup: Bool { !Set(pins).subtracting(presented.certificates.map(\.pin)).isEmpty }

    private var matching: [Certificate] { presented.certificates.filter { pins.contains($0.pin) } }

    private var pathFindings: [Finding] {
        guard let refusal = presented.refusal else { return [] }
        return [Finding(kind: .pathInvalid, message: "apps refuse the server's certificates, \(refusal.reason): \(refusal.detail)")]
    }

    private var pinFindings: [Finding] {
        var findings: [Finding] = []
        if matching.isEmpty {
            let presented = presented.certificates.first.map { "; if you changed the server's key, add its pin: \($0.pin)" } ?? ""
            let consequence = settings.enforce ? "apps refuse the server" : "apps accept the server, because the pins are not enforced"
            findings.append(
                Finding(kind: .noMatch, message: "no key of the server's certificates is pinned, and \(consequence)\(presented)"))
        }
        if !settings.pins.isEmpty, !hasBackup {
            findings.append(
                Finding(
                    kind: .noBackupPin,
                    message: "every pin is of a key in use; add the pin of a backup key that is kept elsewhere, in case these keys are lost"
                ))
        }
        return findings
    }

    private var expiryFindings: [Finding] {
        var findings: [Finding] = []
        let soon = now.addingTimeInterval(TimeInterval(days) * 86_400)
        // A pinned issuer still matches after the leaf is renewed. A pinned leaf must keep its key, or the next key must be pinned.
        if let leaf = presented.certificates.first, leaf.notAfter <= soon {
            let isOnlyMatch = matching.count == 1 && matching[0].pin == leaf.pin
            let advice =
                isOnlyMatch
                ? "only its own key is pinned: before that, renew it with the same key or add the next key's pin" : "renew it before that"
            findings.append(
                Finding(kind: .certificateExpiring, message: "the server's certificate ends at \(RFC3339.text(leaf.notAfter)); \(advice)"))
        } else if !matching.isEmpty, matching.allSatisfy({ $0.notAfter <= soon }) {
            let last = matching.map(\.notAfter).max() ?? now
            findings.append(
                Finding(
                    kind: .certificateExpiring,
                    message:
                        "the last certificate with a pinned key ends at \(RFC3339.text(last)); before that, pin the keys that replace it"))
        }
        // Without a validated path, which of the sent certificates matter is unknown.
        if presented.refusal == nil {
            for issuer in presented.certificates.dropFirst() where issuer.notAfter <= soon {
                findings.append(
                    Finding(
                        kind: .certificateExpiring,
                        message: "\(issuer.subject), on the path to the root, ends at \(RFC3339.text(issuer.notAfter));"
                            + " before that, have the server present its successor, or renew the trust roots"))
            }
        }
        if let date = settings.pinsExpireAt.map({ Date(timeIntervalSince1970: TimeInterval($0)) }), date <= soon {
            findings.append(
                Finding(
                    kind: .pinsExpiring,
                    message: "the pins are due for a change at \(RFC3339.text(date)); set new pins, or a new date with -pinsExpireAt"))
        }
        return findings
    }
}
