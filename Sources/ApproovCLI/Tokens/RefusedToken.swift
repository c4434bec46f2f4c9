import ApproovBase
import ApproovAuthority
import ApproovTokens
import Attestation

/// A token that does not verify, with the likely cause.
struct RefusedToken {
    let token: String
    let error: TokenError

    /// The likely cause in words; nil when the error already says it all.
    ///
    /// It relies on unverified claims, which is enough for an operator who looks for a mistake.
    func cause(in store: AuthorityStore) -> String? {
        switch error.code {
        case .badSignature: signatureCause(in: store)
        case .expired:
            "\(expiry)apps replace a token before it expires; a token that was copied by hand expires within minutes"
        case .notYetValid: "the authority's clock is ahead of this machine's clock"
        case .wrongAudience: claims?.string("aud").map { "its aud claim is \($0)" }
        case .bindingMismatch: "the header's value changed in transit, or the app requested the token for another value"
        case .bindingMissing: "the app sent the request without its binding header, or app and backend name different binding headers"
        // The token of a failed attestation is signed with HS256, whatever the host's keyset.
        case .wrongAlgorithm: failedAttestation(in: store)
        case .unknownKey: "the keyset was removed, or belongs to another account; see: approov keyset -list"
        default: nil
        }
    }

    private func signatureCause(in store: AuthorityStore) -> String {
        guard let arc = arc(in: store) else { return "another account's key signed it, or it was changed in transit" }
        return failedAttestation(arc)
            ?? "its arc is this account's and says passed, so an older secret signed it, or it was changed in transit"
    }

    private func arc(in store: AuthorityStore) -> ARC? {
        claims?.string("arc").flatMap { try? store.decodeARC($0) }
    }

    /// Why the attestation failed; nil if the token does not tell, or says that it passed.
    private func failedAttestation(in store: AuthorityStore) -> String? {
        arc(in: store).flatMap(failedAttestation)
    }

    private func failedAttestation(_ arc: ARC) -> String? {
        guard !arc.reasons.isEmpty else { return nil }
        let reasons = arc.reasons.sorted { $0.rawValue < $1.rawValue }
        return "the attestation failed (\(reasons.map(\.rawValue).joined(separator: ", "))). "
            + reasons.map { "\($0.meaning). \($0.remedy)" }.joined(separator: ". ")
    }

    /// The end of the token's life, as a clause; empty when it cannot be read.
    private var expiry: String {
        guard let exp = try? claims?.json.optionalInteger("exp"), (0...RFC3339.now).contains(exp) else { return "" }
        return "it expired at \(RFC3339.text(seconds: exp)); "
    }

    /// The token's claims, unverified.
    private var claims: Claims? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes, parts.count == 3, let bytes = Base64URL.decode(String(parts[1])),
            let json = try? JSONValue(reading: bytes, limit: TokenVerifier.maximumTokenBytes)
        else { return nil }
        return Claims(json: json)
    }

    private struct Claims {
        let json: JSONValue

        /// Returns a claim if it is a text of at most 256 bytes without control characters.
        func string(_ name: String) -> String? {
            guard let text = try? json.optionalString(name), text.utf8.count <= 256,
                text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
            else { return nil }
            return text
        }
    }
}
