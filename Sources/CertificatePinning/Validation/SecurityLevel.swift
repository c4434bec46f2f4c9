/// OpenSSL's security levels (SSL_CTX_set_security_level(3)).
enum SecurityLevel {
    /// Level 2.
    static let minimum: Int32 = 2
    /// The strength that level 2 requires of keys and signatures, in bits.
    static let minimumBits: Int32 = 112
}
