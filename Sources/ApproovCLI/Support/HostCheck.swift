import Attestation
import CertificatePinning
import Foundation

/// What is wrong, or will be, with a host's pins, given what its server presents now.
struct HostCheck {
    /// One thing that is wrong.
    struct Finding: Encodable, Equatable {
        enum Kind: String, Encodable {
            /// Apps are refused now.
            case pathInvalid, noMatch
            /// Requests over the relay fail now.
            case keyRefused, relayFailed
            /// Apps are refused with the next change of the server's key, or soon.
            case noBackupPin, certificateExpiring, pinsExpiring
        }

        let kind: Kind
        let message: String
    }

    /// The pins that hold: the host's own, or the managed roots.
    let pins: [Pin]
    let settings: HostSettings
    let presented: PresentedChain
    let now: Date
    /// How many days ahead something counts as soon.
    let days: Int

    /// Everything that is wrong; empty when nothing is.
    var findings: [Finding] { pathFindings + pinFindings + expiryFindings }

    /// Whether apps get through now.
    var isBroken: Bool { findings.contains(where: breaksNow) }

    /// Whether apps are refused already because of it.
    func breaksNow(_ finding: Finding) -> Bool {
        switch finding.kind {
        case .pathInvalid, .keyRefused, .relayFailed: true
        case .noMatch: settings.enforce
        case .noBackupPin, .certificateExpiring, .pinsExpiring: false
        }
    }

    /// Whether a key is pinned that is not in use, for when those in use are lost; one single managed root leaves none.
    var hasBackup: Bool { !Set(pins).subtracting(presented.certificates.map(\.pin)).isEmpty }

    private var matching: [Certificate] { presented.certificates.filter { pins.contains($0.pin) } }

    private var pathFindings: [Finding] {
        guard let refusal = presented.refusal else { return [] }
        return [Finding(kind: .pathInvalid, message: "the chain does not validate, \(refusal.reason): \(refusal.detail)")]
    }

    private var pinFindings: [Finding] {
        var findings: [Finding] = []
        if matching.isEmpty {
            let presented = presented.certificates.first.map { ": add \($0.pin) if its key was changed on purpose" } ?? ""
            let consequence = settings.enforce ? "apps are refused" : "apps get through, for the pins are not enforced"
            findings.append(Finding(kind: .noMatch, message: "no key that the server presents is pinned, \(consequence)\(presented)"))
        }
        if !settings.pins.isEmpty, !hasBackup {
            findings.append(
                Finding(
                    kind: .noBackupPin,
                    message: "every pin is of a key in use: add the pin of a backup key that is kept elsewhere, for when these are lost"))
        }
        return findings
    }

    private var expiryFindings: [Finding] {
        var findings: [Finding] = []
        let soon = now.addingTimeInterval(TimeInterval(days) * 86_400)
        // What outlives the leaf keeps matching when the leaf is renewed; a pinned leaf needs its key kept, or its successor pinned.
        if let leaf = presented.certificates.first, leaf.notAfter <= soon {
            let isOnlyMatch = matching.count == 1 && matching[0].pin == leaf.pin
            let advice =
                isOnlyMatch
                ? "only its own key is pinned: renew it with the same key, or add the next key's pin before" : "renew it before"
            findings.append(
                Finding(kind: .certificateExpiring, message: "the server's certificate ends at \(RFC3339.text(leaf.notAfter)); \(advice)"))
        } else if !matching.isEmpty, matching.allSatisfy({ $0.notAfter <= soon }) {
            let last = matching.map(\.notAfter).max() ?? now
            findings.append(
                Finding(
                    kind: .certificateExpiring,
                    message: "the certificates whose keys are pinned end by \(RFC3339.text(last)): pin what replaces them before"))
        }
        // Of what was sent without validating, nobody knows which certificates count.
        if presented.refusal == nil {
            for issuer in presented.certificates.dropFirst() where issuer.notAfter <= soon {
                findings.append(
                    Finding(
                        kind: .certificateExpiring,
                        message: "\(issuer.subject), on the path to the root, ends at \(RFC3339.text(issuer.notAfter)):"
                            + " have the server present its successor, or renew the trust roots, before"))
            }
        }
        if let date = settings.pinsExpireAt.map({ Date(timeIntervalSince1970: TimeInterval($0)) }), date <= soon {
            findings.append(
                Finding(
                    kind: .pinsExpiring,
                    message: "the pins are due for a change at \(RFC3339.text(date)): set new ones, or a new date with -pinsExpireAt"))
        }
        return findings
    }
}
