internal import ApproovBase
internal import Attestation

/// Reads the attestation response code (ARC) from a token without verifying the token.
package enum UnverifiedARC {
    /// The size of a decoded code in bytes.
    private static let size = 16

    /// Returns the token's code if it has the right format.
    ///
    /// Any client could have written it: the token is not verified, and only the account's key can tell whether the code is genuine.
    ///
    /// - Parameter token: The text as received.
    /// - Returns: 26 characters of base32; nil if the text is not a token or has no such code.
    package static func read(fromToken token: String) -> String? {
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let claims = try? JSONValue(reading: payload, limit: TokenVerifier.maximumTokenBytes).object(),
            case .string(let text) = claims["arc"], Base32.decode(text)?.count == size
        else { return nil }
        return text
    }
}
