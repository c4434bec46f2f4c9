internal import ApproovBase
internal import Attestation

/// Reads the attestation response code (ARC) from a token that was not verified.
package enum UnverifiedARC {
    /// Bytes of a code before base32.
    private static let size = 16

    /// The code that a token says it has, when it is spelt as one.
    ///
    /// Nothing of the token is verified: any client can have written it, and only the account's key tells whether it is a code.
    ///
    /// - Parameter token: A text as received.
    /// - Returns: 26 characters of base32; nil when the text is no token, or has no code.
    package static func read(fromToken token: String) -> String? {
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let claims = try? JSONValue(parsing: payload, limit: TokenVerifier.maximumTokenBytes).object(),
            case .string(let text) = claims["arc"], Base32.decode(text)?.count == size
        else { return nil }
        return text
    }
}
