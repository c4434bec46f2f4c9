import ApproovBase
public import Attestation
import CLibJWT
import COpenSSL
import Crypto
import Glibc

/// Signs tokens: with HS256 by swift-crypto, with the other algorithms by libjwt.
///
/// libjwt parses the claims that were just written, and writes them again. For HS256 that takes much longer than the HMAC.
public struct TokenSigner: Sendable {
    /// The key that signs.
    public let key: SigningKey
    /// The header of a token that libjwt does not sign, in base64url.
    private let header: String

    /// Makes a signer and checks once that it can sign and that the verification key accepts the signature.
    ///
    /// - Parameter key: The key that signs.
    /// - Throws: ``TokenError`` with code `signingFailed` when the key cannot sign.
    public init(key: SigningKey) throws(TokenError) {
        self.key = key
        var members: [String: JSONValue] = ["alg": .string(key.algorithm.rawValue), "typ": "JWT"]
        members["kid"] = key.kid.map(JSONValue.string)
        header = Base64URL.encode(JSONValue.object(members).serialized())
        let probe = try sign(TokenClaims(exp: 1))
        guard LibJWT.verifies(Array(probe.utf8), key: key.verificationKey) else {
            throw TokenError(.signingFailed, "the public key does not verify the private key's signature")
        }
    }

    /// Makes a token with these claims.
    ///
    /// - Parameter claims: The claims.
    /// - Returns: The token, a compact JWS.
    /// - Throws: ``TokenError`` with code `signingFailed` when a claim cannot be encoded, or the token would exceed
    ///   ``TokenVerifier/maximumTokenBytes``.
    public func sign(_ claims: TokenClaims) throws(TokenError) -> String {
        let token = key.algorithm == .hs256 ? try hmacSigned(claims.json) : try signedByLibJWT(claims.json)
        guard token.utf8.count <= TokenVerifier.maximumTokenBytes else {
            throw TokenError(.signingFailed, "the token would be longer than \(TokenVerifier.maximumTokenBytes) bytes; shorten its claims")
        }
        return token
    }

    /// Signs header, dot and payload (RFC 7515, section 5.1).
    private func hmacSigned(_ claims: JSONValue) throws(TokenError) -> String {
        // Without a secret, anyone could sign.
        guard var hmac = key.verificationKey.hmac else { throw TokenError(.signingFailed, "the secret is empty") }
        // Verifiers refuse a NUL.
        guard !claims.containsNUL else { throw TokenError(.signingFailed, "a claim contains a NUL character; remove it") }
        let signed = header + "." + Base64URL.encode(claims.serialized())
        hmac.update(data: Array(signed.utf8))
        return signed + "." + hmac.finalize().withUnsafeBytes { Base64URL.encode($0) }
    }

    private func signedByLibJWT(_ claims: JSONValue) throws(TokenError) -> String {
        var created: OpaquePointer?
        guard jwt_new(&created) == 0, let token = created else { throw TokenError(.signingFailed, "out of memory") }
        defer {
            jwt_free(token)
            ERR_clear_error()
        }
        let json = String(decoding: claims.serialized(), as: UTF8.self)
        guard jwt_add_grants_json(token, json) == 0 else {
            throw TokenError(.signingFailed, "libjwt cannot encode the claims; remove NUL characters")
        }
        if let kid = key.kid, jwt_add_header(token, "kid", kid) != 0 {
            throw TokenError(.signingFailed, "libjwt cannot encode the key's kid")
        }
        // Set the type ourselves: libjwt's default differs between versions.
        _ = jwt_del_headers(token, "typ")
        guard jwt_add_header(token, "typ", "JWT") == 0 else { throw TokenError(.signingFailed, "libjwt cannot encode the type") }
        guard jwt_set_alg(token, key.algorithm.libjwt, key.material, Int32(key.material.count)) == 0,
            let encoded = jwt_encode_str(token)
        else { throw TokenError(.signingFailed, "libjwt cannot sign with this key") }
        defer { free(encoded) }
        return String(cString: encoded)
    }
}

extension JSONValue {
    /// Whether a string in it contains the character NUL.
    fileprivate var containsNUL: Bool {
        switch self {
        case .null, .bool, .integer, .real: false
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains(where: \.containsNUL)
        case .object(let members): members.contains { $0.key.utf8.contains(0) || $0.value.containsNUL }
        }
    }
}
