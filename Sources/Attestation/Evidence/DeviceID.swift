import ApproovBase
public import Crypto

/// Identifies an installation: the first 16 bytes of the SHA-256 of its public key (SubjectPublicKeyInfo).
public struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    /// The 16 bytes of the device ID.
    public let bytes: [UInt8]

    /// Computes the device ID of the installation with this public key.
    public init(installationKey: P256.Signing.PublicKey) {
        self.init(subjectPublicKeyInfo: Array(installationKey.derRepresentation))
    }

    init(subjectPublicKeyInfo: [UInt8]) {
        bytes = SHA256.hash(data: subjectPublicKeyInfo).withUnsafeBytes { Array($0.prefix(16)) }
    }

    /// Reads the padded base64 of 16 bytes.
    ///
    /// - Parameter base64: The text.
    /// - Throws: ``AttestationError`` with code `malformedEncoding` for any other text.
    public init(base64: String) throws(AttestationError) {
        guard let decoded = Base64.decode(base64), decoded.count == 16 else {
            throw AttestationError(.malformedEncoding, "a device ID must be the padded base64 of 16 bytes")
        }
        bytes = decoded
    }

    /// The device ID in padded base64, as in the claim `did`.
    public var base64: String { Base64.encode(bytes) }

    /// The device ID in padded base64.
    public var description: String { base64 }
}
