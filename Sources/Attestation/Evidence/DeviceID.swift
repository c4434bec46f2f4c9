import ApproovBase
public import Crypto

/// Names an installation: the first 16 bytes of the SHA-256 of its key's SubjectPublicKeyInfo.
public struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// The device ID of the installation that has this key.
    public init(installationKey: P256.Signing.PublicKey) {
        bytes = Array(SHA256.hash(data: installationKey.derRepresentation).prefix(16))
    }

    /// Reads padded base64 of 16 bytes.
    ///
    /// - Throws: `AttestationError.malformedEncoding` for anything else.
    public init(base64: String) throws(AttestationError) {
        guard let decoded = Base64.decode(base64), decoded.count == 16 else {
            throw AttestationError(.malformedEncoding, "a device ID is padded base64 of 16 bytes")
        }
        bytes = decoded
    }

    /// Padded base64, as in the claim `did`.
    public var base64: String { Base64.encode(bytes) }

    /// Padded base64.
    public var description: String { base64 }
}
