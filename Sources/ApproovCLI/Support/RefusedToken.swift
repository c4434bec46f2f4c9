import ApproovBase
import ApproovAuthority
import ApproovTokens
import Attestation

/// A token that does not verify, and what the operator can learn about the cause.
struct RefusedToken {
    let token: String
    let error: TokenError

    /// The cause in words; nil where the error says it all.
    ///
    /// Nothing in the token is proven. It is good enough for an operator who looks for a mistake.
    func cause(in store: AuthorityStore) -> String? {
        switch error.code {
        case .badSignature: signatureCause(in: store)
        case .expired: "an app requests a new token before that; a token that was copied by hand is soon too old"
        case .notYetValid: "the authority's clock is ahead of this one"
        case .wrongAudience: claims?.string("aud").map { "its aud is \($0)" }
        case .bindingMismatch: "the header did not arrive as the app sent it, or the token was requested for another value"
        case .bindingMissing: "the app sent the request without its binding header, or names another one than the backend"
        case .unknownKey: "the keyset was removed, or is another account's; see: approov keyset -list"
        default: nil
        }
    }

    private func signatureCause(in store: AuthorityStore) -> String {
        guard let text = claims?.string("arc"), let arc = try? store.decodeARC(text) else {
            return "another account's key signed it, or it was changed on its way"
        }
        guard !arc.reasons.isEmpty else {
            return "its arc is this account's and says passed: a secret that was changed since signed it, or it was changed on its way"
        }
        let reasons = arc.reasons.sorted { $0.rawValue < $1.rawValue }
        return "the attestation failed (\(reasons.map(\.rawValue).joined(separator: ", "))). "
            + reasons.map { "\($0.meaning). \($0.remedy)" }.joined(separator: ". ")
    }

    /// What the token claims, proven by nothing.
    private var claims: Claims? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes, parts.count == 3, let bytes = Base64URL.decode(String(parts[1])),
            let json = try? JSONValue(parsing: bytes, limit: TokenVerifier.maximumTokenBytes)
        else { return nil }
        return Claims(json: json)
    }

    private struct Claims {
        let json: JSONValue

        /// A claim that is a short text without control characters.
        func string(_ name: String) -> String? {
            guard let text = try? json.optionalString(name), text.utf8.count <= 256,
                text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
            else { return nil }
            return text
        }
    }
}
