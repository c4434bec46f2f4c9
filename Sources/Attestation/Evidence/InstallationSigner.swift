internal import ApproovBase

/// Signs messages with the installation key, whose public key is the token's claim `ipk`.
///
/// ``InstallationAttester`` does. Your own attester must also be one, with the key that signs its evidence, before its app can sign
/// requests.
public protocol InstallationSigner: Sendable {
    /// Signs a message with ECDSA on P-256 and SHA-256.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature, r and s, 32 bytes each.
    /// - Throws: Any error; nothing is then sent.
    func installationSignature(of message: [UInt8]) async throws -> [UInt8]
}

extension Evidence {
    /// Whether bytes have the form of what evidence, or another JWS, signs (RFC 7515, section 5.1).
    ///
    /// The installation key must not sign such bytes for a caller: the signature would make evidence of them.
    package static func isSigningInput(_ message: [UInt8]) -> Bool {
        let parts = message.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return false }
        let decoded = parts.compactMap { part in part.withUnsafeBufferPointer { Base64URL.decode(utf8: $0) } }
        guard decoded.count == 2 else { return false }
        // A JWS has a JSON object as its header.
        return decoded[0].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
    }
}

extension InstallationAttester: InstallationSigner {
    /// Signs a message with the installation key.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature, r and s, 32 bytes each.
    /// - Throws: ``AttestationError`` with code `unsignableMessage` when the message has the form of evidence.
    public func installationSignature(of message: [UInt8]) throws -> [UInt8] {
        guard !Evidence.isSigningInput(message) else {
            throw AttestationError(
                .unsignableMessage, "the message has the form of a JWS, which would make it evidence; sign the message's SHA-256 instead")
        }
        return try sign(message)
    }
}
