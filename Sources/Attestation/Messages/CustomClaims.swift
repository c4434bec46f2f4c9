package import ApproovBase
internal import Crypto

/// The claims that an app requests for a custom JWT, a token for a party that is not an API of the account.
///
/// They travel as one JSON object: the app's own claims, and `aud`, the audience for which the app requests the token. The evidence
/// contains the SHA-256 of these bytes, and with it the audience.
package struct CustomClaims: Sendable, Hashable {
    /// The `typ` of a custom JWT, which tells it apart from a token.
    package static let type = "approov-custom+jwt"
    /// The most bytes of the object.
    package static let maximumBytes = 4_096
    /// The names that an app cannot use for its own claims: those of a token (``TokenClaims``), and `nbf`.
    package static let reservedNames: Set<String> = [
        "exp", "iat", "nbf", "ip", "did", "arc", "pay", "iss", "aud", "ipk", "anno", "sub", "mskid", "jti",
    ]
    /// The most bytes of the claims as written into a token, which keeps the token shorter than the longest one that a header takes.
    private static let maximumWrittenBytes = 5_500

    /// The exact bytes of the object.
    package let bytes: [UInt8]
    /// The audience: 1 to 256 visible ASCII characters.
    package let audience: String
    /// The app's own claims.
    package let claims: [String: JSONValue]

    /// Reads the object strictly.
    ///
    /// - Parameter bytes: The exact bytes.
    /// - Throws: ``AttestationError`` with code `tooLarge` when there are more than ``maximumBytes``; with code `malformedJSON` when they
    ///   are not strict JSON, for example with repeated members; with code `malformedMember` when they are not an object, `aud` is missing
    ///   or malformed, or a claim has a reserved name.
    package init(_ bytes: [UInt8]) throws(AttestationError) {
        let json = try JSONValue(reading: bytes, limit: Self.maximumBytes)
        var claims = try json.object()
        audience = try json.string("aud")
        guard Self.isAudience(audience) else {
            throw AttestationError(.malformedMember, "must be 1 to 256 visible ASCII characters", member: "aud")
        }
        claims["aud"] = nil
        if let name = claims.keys.sorted().first(where: Self.reservedNames.contains) {
            throw AttestationError(.malformedMember, "is reserved for the authority; choose another name", member: name)
        }
        guard json.serialized().count <= Self.maximumWrittenBytes else {
            throw AttestationError(
                .tooLarge, "the custom claims would be too long in a token; shorten them, and use fewer escapes and exponents")
        }
        self.bytes = bytes
        self.claims = claims
    }

    /// Makes the object from an app's claims and the audience.
    ///
    /// - Parameters:
    ///   - claims: A JSON object without reserved names.
    ///   - audience: The audience: 1 to 256 visible ASCII characters.
    /// - Throws: ``AttestationError`` as when reading the object.
    package init(_ claims: JSONValue, for audience: String) throws(AttestationError) {
        var members = try claims.object()
        guard members.updateValue(.string(audience), forKey: "aud") == nil else {
            throw AttestationError(.malformedMember, "is reserved for the authority; name the audience separately", member: "aud")
        }
        try self.init(JSONValue.object(members).serialized())
    }

    /// The claims of a custom JWT: the app's, and the authority's.
    ///
    /// - Parameters:
    ///   - issuer: The account's name.
    ///   - issuedAt: When the token is issued, in seconds since 1970.
    ///   - lifetime: How long the token is valid, in seconds.
    /// - Returns: A JSON object.
    package func tokenClaims(issuer: String, issuedAt: Int64, lifetime: Int64) -> JSONValue {
        let own: [String: JSONValue] = [
            "aud": .string(audience), "iss": .string(issuer), "iat": .integer(issuedAt), "exp": .integer(issuedAt + lifetime),
        ]
        return .object(claims.merging(own) { $1 })
    }

    /// The hash that the evidence must contain: the base64url of the SHA-256 of the exact bytes.
    package var hash: String { Self.hash(of: bytes) }

    /// Returns the base64url of the SHA-256 of `bytes`.
    package static func hash(of bytes: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: bytes))) }

    private static func isAudience(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}
