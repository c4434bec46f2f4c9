/// Signs signature bases with one key.
///
/// ``SignatureSigningKey`` has the algorithms of RFC 9421. An implementation may ask a hardware key or another process.
public protocol MessageSigner: Sendable {
    /// The algorithm of the signatures.
    var algorithm: SignatureAlgorithm { get }

    /// Signs a base.
    ///
    /// - Parameter base: The signature base.
    /// - Returns: The signature in the form that RFC 9421, section 3.3 gives for the algorithm: for ECDSA r and s, not DER.
    /// - Throws: Any error; the message is then not signed.
    func sign(_ base: [UInt8]) async throws -> [UInt8]
}
