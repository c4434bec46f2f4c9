package import ApproovBase
public import Crypto

/// A P-256 public key as a JSON Web Key (RFC 7517; RFC 7518, section 6.2).
public struct PublicJWK: Hashable, Sendable {
    /// The public key.
    public let key: P256.Signing.PublicKey
    /// The key's thumbprint (RFC 7638): its SHA-256 in base64url.
    public let thumbprint: String
    /// The coordinates x and y, 32 bytes each.
    private let point: [UInt8]

    /// Makes the JWK of a key.
    public init(_ key: P256.Signing.PublicKey) {
        self.init(key, point: Array(key.rawRepresentation))
    }

    /// Makes the JWK of a key whose coordinates are known: to compute them takes as long as a tenth of a verification.
    private init(_ key: P256.Signing.PublicKey, point: [UInt8]) {
        self.key = key
        self.point = point
        let required = JSONValue.object(PublicJWK.members(of: point))
        thumbprint = SHA256.hash(data: required.serialized()).withUnsafeBytes { Base64URL.encode($0) }
    }

    /// Reads `kty`, `crv`, `x` and `y`; ignores other members.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedKey` for another type of key, a private key, a coordinate that is not 32 bytes of
    ///   canonical base64url, a point that is not on the curve, or an `alg` or `use` that forbids ES256 signatures.
    package init(json: JSONValue) throws(AttestationError) {
        func refusal(_ message: String, cause: (any Error)? = nil) -> AttestationError {
            AttestationError(.malformedKey, message, cause: cause)
        }
        guard case .object(let members) = json, members["kty"] == .string("EC"), members["crv"] == .string("P-256") else {
            throw refusal("the JWK must be an object with kty EC and crv P-256")
        }
        guard members["d"] == nil else {
            throw refusal("the JWK contains a private key; make a new key, and publish only kty, crv, x and y")
        }
        guard [nil, .string("ES256")].contains(members["alg"]), [nil, .string("sig")].contains(members["use"]) else {
            throw refusal("the JWK's alg must be absent or ES256, and its use absent or sig")
        }
        guard case .string(let xText)? = members["x"], let x = Base64URL.decode(xText), x.count == 32,
            case .string(let yText)? = members["y"], let y = Base64URL.decode(yText), y.count == 32
        else { throw refusal("the JWK's x and y must each be 32 bytes of unpadded base64url") }
        do {
            // The library refuses a coordinate that is not below the prime, so these bytes are the key's only coordinates.
            self.init(try P256.Signing.PublicKey(rawRepresentation: x + y), point: x + y)
        } catch {
            throw refusal("the JWK's x and y are not a point of P-256", cause: error)
        }
    }

    /// An object with `crv`, `kty`, `x` and `y`.
    package var json: JSONValue { .object(PublicJWK.members(of: point)) }

    /// The DER of the key's SubjectPublicKeyInfo (RFC 5480, section 2).
    package var subjectPublicKeyInfo: [UInt8] { PublicJWK.subjectPublicKeyInfoStart + point }

    /// What precedes the coordinates: the algorithm, the curve, and the mark of an uncompressed point.
    private static let subjectPublicKeyInfoStart: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01,
        0x07, 0x03, 0x42, 0x00, 0x04,
    ]

    private static func members(of point: [UInt8]) -> [String: JSONValue] {
        [
            "crv": .string("P-256"), "kty": .string("EC"),
            "x": .string(Base64URL.encode(point[..<32])), "y": .string(Base64URL.encode(point[32...])),
        ]
    }

    /// Two keys are equal if their thumbprints are.
    public static func == (left: PublicJWK, right: PublicJWK) -> Bool {
        left.thumbprint == right.thumbprint
    }

    /// Hashes the thumbprint.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(thumbprint)
    }
}
