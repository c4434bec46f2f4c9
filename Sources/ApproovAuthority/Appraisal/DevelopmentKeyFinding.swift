internal import Attestation

/// What the authority found about the development key of evidence.
enum DevelopmentKeyFinding: Sendable {
    /// The evidence proves no key.
    case absent
    /// The evidence proves the account's key, and the policy accepts it.
    case genuine
    /// The proof is malformed, or that of another key, such as one that was changed since.
    case wrong
    /// The evidence has a proof, and the policy accepts none.
    case switchedOff

    /// Judges the proof in evidence.
    /// - Parameters:
    ///   - evidence: The evidence.
    ///   - thumbprint: The thumbprint of the key that signed it.
    ///   - key: The account's key; nil if it has none.
    ///   - isAccepted: Whether the account's policy accepts the key.
    init(_ evidence: Evidence, thumbprint: [UInt8], key: DevelopmentKey?, isAccepted: Bool) {
        guard let proof = evidence.developmentKey else {
            self = .absent
            return
        }
        guard isAccepted else {
            self = .switchedOff
            return
        }
        self = key?.isProof(proof, challenge: evidence.challenge, thumbprint: thumbprint) == true ? .genuine : .wrong
    }

    /// The reason for which evidence with this finding is rejected; nil for none.
    var flaw: RejectionReason? {
        switch self {
        case .absent, .genuine: nil
        case .wrong: .developmentKeyWrong
        case .switchedOff: .developmentKeyOff
        }
    }
}
