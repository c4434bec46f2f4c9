/// The kinds of key a ``TestKey`` can be.
public enum TestKeyType: Sendable, CaseIterable {
    /// RSA of 1024 bits: below OpenSSL's security level 2, for tests of weak keys.
    case rsa1024
    /// RSA of 2048 bits.
    case rsa2048
    /// RSA of 3072 bits.
    case rsa3072
    /// RSA of 4096 bits, the slowest to generate: up to a few seconds.
    case rsa4096
    /// ECDSA on P-256, the default and the fastest to generate.
    case p256
    /// ECDSA on P-384.
    case p384
    /// ECDSA on P-521.
    case p521
    /// Ed25519 (RFC 8410).
    case ed25519
}
