import CLibJWT

/// The algorithms that sign tokens (RFC 7518, section 3.1).
public enum TokenAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// HMAC with SHA-256: every verifier can also sign.
    case hs256 = "HS256"
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA over P-256 with SHA-256.
    case es256 = "ES256"

    /// The libjwt constant of the algorithm.
    var libjwt: jwt_alg_t {
        switch self {
        case .hs256: JWT_ALG_HS256
        case .rs256: JWT_ALG_RS256
        case .es256: JWT_ALG_ES256
        }
    }
}
