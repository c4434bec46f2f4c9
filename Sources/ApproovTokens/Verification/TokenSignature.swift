import Crypto

/// Verifies the signature of a token whose shape and header were checked: HS256 with swift-crypto, the other algorithms with libjwt.
///
/// libjwt parses header and payload once more before it verifies. For HS256 that takes much longer than the HMAC, and the verifier has done
/// it, or will do it, more strictly.
enum TokenSignature {
    /// Whether a key signed a token.
    ///
    /// - Parameters:
    ///   - signature: The decoded signature.
    ///   - token: The token, a checked compact JWS without NUL.
    ///   - segments: The positions of its segments.
    ///   - key: The key, which is not empty; the header names its algorithm.
    /// - Returns: Whether it did.
    static func verifies(
        _ signature: [UInt8], of token: UnsafeBufferPointer<UInt8>, _ segments: TokenSegments, key: VerificationKey
    ) -> Bool {
        guard key.algorithm == .hs256 else { return LibJWT.verifies(token, key: key) }
        // Without a secret, anyone could sign.
        guard var hmac = key.hmac else { return false }
        // Header, dot and payload: RFC 7515, section 5.2.
        hmac.update(data: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(token)[..<segments.payload.upperBound]))
        // swift-crypto's own == takes as long as a third of the HMAC.
        return hmac.finalize().withUnsafeBytes { code in signature.withUnsafeBytes { ConstantTime.areEqual($0, code) } }
    }
}
