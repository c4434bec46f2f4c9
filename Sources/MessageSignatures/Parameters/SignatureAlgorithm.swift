/// A signature algorithm (RFC 9421, section 3.3).
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PSS with SHA-512 and a salt of 64 bytes.
    case rsaPSSSHA512 = "rsa-pss-sha512"
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rsaPKCS1SHA256 = "rsa-v1_5-sha256"
    /// HMAC with SHA-256.
    case hmacSHA256 = "hmac-sha256"
    /// ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each.
    case ecdsaP256SHA256 = "ecdsa-p256-sha256"
    /// ECDSA on P-384 with SHA-384; the signature is r and s, 48 bytes each.
    case ecdsaP384SHA384 = "ecdsa-p384-sha384"
    /// Ed25519.
    case ed25519
}
