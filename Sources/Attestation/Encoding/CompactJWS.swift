import ApproovBase
import Crypto

/// The parts of a compact JWS (RFC 7515, section 7.1) and the exact bytes that were signed.
struct CompactJWS {
    /// The decoded protected header.
    let header: [UInt8]
    /// The decoded payload.
    let payload: [UInt8]
    /// r and s, 32 bytes each.
    let signature: [UInt8]
    /// The signed bytes: the first two segments as received, and the dot between them.
    let signedBytes: [UInt8]

    /// Splits a text into three canonical, non-empty segments; nil for any other text.
    init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        let decoded = parts.compactMap { part in part.withUnsafeBufferPointer { Base64URL.decode(utf8: $0) } }
        guard decoded.count == 3, decoded[2].count == ES256.signatureLength else { return nil }
        header = decoded[0]
        payload = decoded[1]
        signature = decoded[2]
        signedBytes = Array(text[..<parts[1].endIndex])
    }

    /// Signs with ES256 and returns the compact JWS.
    static func signed(header: JSONValue, payload: JSONValue, by key: P256.Signing.PrivateKey) throws(AttestationError) -> String {
        let signedText = Base64URL.encode(header.serialized()) + "." + Base64URL.encode(payload.serialized())
        return signedText + "." + Base64URL.encode(try ES256.sign(Array(signedText.utf8), by: key))
    }
}
