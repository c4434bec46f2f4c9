package import ApproovBase
internal import Attestation

/// Signs custom JWTs with a keyset's key.
///
/// It does not use libjwt, which gives every token that it signs the `typ` of access tokens.
package struct CustomTokenSigner: Sendable {
    private let key: SigningKey
    private let header: String

    /// Makes a signer and checks once that it can sign.
    ///
    /// - Parameter key: An RS256 or ES256 key.
    /// - Throws: ``TokenError`` with code `malformedKey` for an account secret, whose holders would take a custom JWT for a token; with code
    ///   `signingFailed` when OpenSSL cannot use the key.
    package init(key: SigningKey) throws(TokenError) {
        guard key.algorithm != .hs256 else {
            throw TokenError(.malformedKey, "an account secret signs no custom JWTs; use an RS256 or ES256 key")
        }
        self.key = key
        var members: [String: JSONValue] = ["alg": .string(key.algorithm.rawValue), "typ": .string(CustomClaims.type)]
        members["kid"] = key.kid.map(JSONValue.string)
        header = Base64URL.encode(JSONValue.object(members).serialized())
        _ = try sign(.object([:]))
    }

    /// Makes a custom JWT with these claims.
    ///
    /// - Parameter claims: A JSON object.
    /// - Returns: The token, a compact JWS with the `typ` `approov-custom+jwt`.
    /// - Throws: ``TokenError`` with code `signingFailed` when OpenSSL fails, or the token would exceed
    ///   ``TokenVerifier/maximumTokenBytes``.
    package func sign(_ claims: JSONValue) throws(TokenError) -> String {
        let signed = header + "." + Base64URL.encode(claims.serialized())
        let key = try PEMKey.privateKey(pem: String(decoding: self.key.material, as: UTF8.self), for: self.key.algorithm)
        let token = signed + "." + Base64URL.encode(try key.signature(over: Array(signed.utf8), algorithm: self.key.algorithm))
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes else {
            throw TokenError(.signingFailed, "the custom JWT would be longer than \(TokenVerifier.maximumTokenBytes) bytes")
        }
        return token
    }
}
