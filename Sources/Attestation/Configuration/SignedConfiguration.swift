package import ApproovBase
public import Crypto

/// A signed dynamic configuration: a JWS in general JSON serialization (RFC 7515, section 7.2.1).
///
/// It has one signature, or two if the signing keys change. A value of this type has the right shape, but its payload is neither verified
/// nor parsed; `ConfigurationState` does that.
public struct SignedConfiguration: Sendable, Hashable {
    /// One signature with the exact text of its protected header.
    struct Signature: Sendable, Hashable {
        /// The protected header as received, in base64url.
        let protected: String
        /// r and s, 32 bytes each.
        let bytes: [UInt8]
        /// The thumbprint of the key that allegedly made the signature; only a hint.
        let kid: String?
    }

    /// The `typ` of the protected header; it prevents a signature over other data from passing as one over a configuration.
    public static let type = "approov-config+jws"
    /// The most bytes of a signed configuration as JSON.
    public static let maximumBytes = DynamicConfiguration.maximumBytes / 3 * 4 + 4 * 1024

    /// The payload as received, in base64url.
    let payload: String
    /// The decoded payload, which is not verified.
    public let payloadBytes: [UInt8]
    /// One or two signatures.
    let signatures: [Signature]

    /// The base64url of the SHA-256 of the decoded payload.
    ///
    /// Two configurations with the same version and other content differ in it. The signatures do not count, because ECDSA gives the same
    /// payload other signatures each time.
    package var payloadHash: String { Base64URL.encode(Array(SHA256.hash(data: payloadBytes))) }

    /// Reads the members `payload` and `signatures`; refuses any other.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedSignature` or `malformedMember` for any other shape: an unknown member, an
    ///   unprotected header, another `alg` or `typ`, no signature or more than two, or text that is not canonical base64url; with code
    ///   `tooLarge` when the payload exceeds ``DynamicConfiguration/maximumBytes``.
    package init(json: JSONValue) throws(AttestationError) {
        try json.requireOnly(["payload", "signatures"])
        payload = try json.string("payload")
        guard payload.utf8.count <= SignedConfiguration.maximumBytes else {
            throw AttestationError(.tooLarge, "must have at most \(DynamicConfiguration.maximumBytes) bytes", member: "payload")
        }
        guard let bytes = Base64URL.decode(payload), !bytes.isEmpty else {
            throw AttestationError(.malformedSignature, "must be unpadded base64url", member: "payload")
        }
        guard bytes.count <= DynamicConfiguration.maximumBytes else {
            throw AttestationError(.tooLarge, "must have at most \(DynamicConfiguration.maximumBytes) bytes", member: "payload")
        }
        payloadBytes = bytes
        guard (1...2).contains(try json.member("signatures").array().count) else {
            throw AttestationError(.malformedSignature, "must be one signature, or two if the keys change", member: "signatures")
        }
        signatures = try json.elements("signatures") { (element) throws(AttestationError) in try Signature(json: element) }
    }

    /// Reads exactly the bytes that `serialized` returns; another spelling of the same value is refused.
    ///
    /// - Parameter bytes: The JSON text.
    /// - Throws: ``AttestationError`` like `init(json:)`, and with code `malformedJSON` when the text is not strict JSON.
    public init(serialized bytes: [UInt8]) throws(AttestationError) {
        let value = try JSONValue(reading: bytes, limit: SignedConfiguration.maximumBytes)
        try self.init(json: value)
        guard serialized == bytes else {
            throw AttestationError(.malformedSignature, "the JWS was reserialized in transit; pass the bytes on unchanged")
        }
    }

    /// Signs a configuration.
    ///
    /// - Parameters:
    ///   - configuration: The configuration to sign; its rules are checked first.
    ///   - keys: One key, or an old and a new one if `configuration` changes `configKeys`.
    /// - Throws: ``AttestationError`` when the configuration breaks a rule, `keys` is not one key or two different keys, or a key cannot
    ///   sign.
    public init(signing configuration: DynamicConfiguration, by keys: [P256.Signing.PrivateKey]) throws(AttestationError) {
        let bytes = configuration.json.serialized()
        _ = try DynamicConfiguration(json: try JSONValue(reading: bytes, limit: DynamicConfiguration.maximumBytes))
        guard (1...2).contains(keys.count), Set(keys.map { PublicJWK($0.publicKey) }).count == keys.count else {
            throw AttestationError(.malformedSignature, "sign with one key, or with an old and a new key if the keys change")
        }
        payload = Base64URL.encode(bytes)
        payloadBytes = bytes
        var made: [Signature] = []
        for key in keys {
            let kid = PublicJWK(key.publicKey).thumbprint
            let header = JSONValue.object(["alg": "ES256", "kid": .string(kid), "typ": .string(SignedConfiguration.type)])
            let protected = Base64URL.encode(header.serialized())
            let signature = try ES256.sign(Array("\(protected).\(payload)".utf8), by: key)
            made.append(Signature(protected: protected, bytes: signature, kid: kid))
        }
        signatures = made
    }

    /// The JSON text: compact, with sorted members.
    public var serialized: [UInt8] { json.serialized() }

    /// The JWS as a JSON value.
    package var json: JSONValue {
        .object(["payload": .string(payload), "signatures": .array(signatures.map(\.json))])
    }

    /// Returns the one of `keys` that made the signature at `index`; nil if none did.
    func signer(ofSignatureAt index: Int, among keys: [PublicJWK]) -> PublicJWK? {
        let signature = signatures[index]
        let signed = Array("\(signature.protected).\(payload)".utf8)
        return keys.first { key in
            (signature.kid == nil || signature.kid == key.thumbprint) && ES256.verify(signature.bytes, over: signed, by: key.key)
        }
    }
}

extension SignedConfiguration.Signature {
    /// The most characters of a protected header; ours have about 150.
    private static let maximumHeaderCharacters = 512

    init(json: JSONValue) throws(AttestationError) {
        try json.requireOnly(["protected", "signature"])
        protected = try json.string("protected")
        guard protected.utf8.count <= Self.maximumHeaderCharacters, let headerBytes = Base64URL.decode(protected) else {
            throw AttestationError(
                .malformedSignature, "must be at most \(Self.maximumHeaderCharacters) characters of unpadded base64url", member: "protected"
            )
        }
        kid = try inMember("protected") { () throws(AttestationError) in try Self.kid(ofHeader: headerBytes) }
        guard let signature = Base64URL.decode(try json.string("signature")), signature.count == ES256.signatureLength else {
            throw AttestationError(.malformedSignature, "must be \(ES256.signatureLength) bytes of unpadded base64url", member: "signature")
        }
        bytes = signature
    }

    var json: JSONValue {
        .object(["protected": .string(protected), "signature": .string(Base64URL.encode(bytes))])
    }

    /// Checks that the header contains ES256, our type and at most a `kid` besides; returns the `kid`.
    private static func kid(ofHeader bytes: [UInt8]) throws(AttestationError) -> String? {
        let header = try JSONValue(reading: bytes, limit: maximumHeaderCharacters)
        try header.requireOnly(["alg", "kid", "typ"])
        guard try header.string("alg") == "ES256", try header.string("typ") == SignedConfiguration.type else {
            throw AttestationError(.malformedSignature, "must have alg ES256 and typ \(SignedConfiguration.type)")
        }
        return try header.object()["kid"].map { (value) throws(AttestationError) in try value.string() }
    }
}
