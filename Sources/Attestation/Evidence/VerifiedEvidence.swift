import ApproovBase
public import Crypto

/// Evidence that was signed by the key it contains and has that key's device ID.
///
/// Only verification makes values of this type.
public struct VerifiedEvidence: Sendable {
    /// The most bytes of the JWS's header.
    private static let maximumHeaderBytes = 1_024

    /// The evidence that was signed.
    public let evidence: Evidence
    /// The key that signed it, with its thumbprint.
    package let key: PublicJWK
    /// The key that signed it.
    public var installationKey: P256.Signing.PublicKey { key.key }

    /// The installation's device ID.
    public var deviceID: DeviceID { evidence.deviceID }

    /// Verifies a compact JWS.
    ///
    /// The caller must still check challenge, audience, account and measurements.
    ///
    /// - Parameter compactJWS: The signed evidence.
    /// - Throws: ``AttestationError`` with code `tooLarge` when the text exceeds ``Evidence/maximumBytes``; `malformedEvidence` when it has
    ///   another shape, `typ` or `alg`, a header member besides `alg`, `jwk` and `typ`, or a device ID that is not the key's;
    ///   `malformedSignature` when the signature does not verify.
    public init(verifying compactJWS: String) throws(AttestationError) {
        try self.init(verifying: Array(compactJWS.utf8))
    }

    /// Verifies a compact JWS given as bytes.
    ///
    /// - Parameter compactJWS: The signed evidence.
    /// - Throws: ``AttestationError`` as when verifying text.
    public init(verifying compactJWS: [UInt8]) throws(AttestationError) {
        guard compactJWS.count <= Evidence.maximumBytes else {
            throw AttestationError(.tooLarge, "the evidence has more than \(Evidence.maximumBytes) bytes")
        }
        guard let parts = CompactJWS(compactJWS) else {
            throw AttestationError(.malformedEvidence, "evidence must be a compact JWS, three segments of canonical base64url")
        }
        do {
            key = try Self.key(inHeader: parts.header)
        } catch {
            throw AttestationError(
                .malformedEvidence, "the evidence's header must have alg ES256, typ \(Evidence.type) and jwk", cause: error)
        }
        guard ES256.verify(parts.signature, over: parts.signedBytes, by: key.key) else {
            throw AttestationError(.malformedSignature, "the key in the header did not make the evidence's signature")
        }
        do {
            evidence = try Evidence(json: try JSONValue(reading: parts.payload, limit: Evidence.maximumBytes))
        } catch {
            throw AttestationError(.malformedEvidence, "the payload is not evidence", cause: error)
        }
        guard evidence.deviceID == DeviceID(subjectPublicKeyInfo: key.subjectPublicKeyInfo) else {
            throw AttestationError(.malformedEvidence, "is not the device ID of the key in the header", member: "deviceID")
        }
    }

    private static func key(inHeader bytes: [UInt8]) throws(AttestationError) -> PublicJWK {
        let header = try JSONValue(reading: bytes, limit: maximumHeaderBytes)
        try header.requireOnly(["alg", "jwk", "typ"])
        guard try header.string("alg") == "ES256", try header.string("typ") == Evidence.type else {
            throw AttestationError(.malformedMember, "alg or typ has another value")
        }
        return try PublicJWK(json: try header.member("jwk"))
    }
}
