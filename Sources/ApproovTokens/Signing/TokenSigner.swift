public import Attestation
import CLibJWT
import COpenSSL
import Glibc

/// Signs tokens.
public struct TokenSigner: Sendable {
    /// The key that signs.
    public let key: SigningKey

    /// Makes a signer and checks once that it can sign and that the verification key accepts the signature.
    ///
    /// - Parameter key: The key that signs.
    /// - Throws: ``TokenError`` with code `signingFailed` when libjwt cannot use the key.
    public init(key: SigningKey) throws(TokenError) {
        self.key = key
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
        var created: OpaquePointer?
        guard jwt_new(&created) == 0, let token = created else { throw TokenError(.signingFailed, "out of memory") }
        defer {
            jwt_free(token)
            ERR_clear_error()
        }
        let json = String(decoding: claims.json.serialized(), as: UTF8.self)
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
        let text = String(cString: encoded)
        guard text.utf8.count <= TokenVerifier.maximumTokenBytes else {
            throw TokenError(.signingFailed, "the token would be longer than \(TokenVerifier.maximumTokenBytes) bytes; shorten its claims")
        }
        return text
    }
}
