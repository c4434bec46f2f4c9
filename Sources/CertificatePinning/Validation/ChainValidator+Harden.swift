internal import COpenSSL

/// OpenSSL's security levels (SSL_CTX_set_security_level(3)).
enum SecurityLevel {
    /// 112 bits.
    static let minimum: Int32 = 2
    /// What that means, in bits of a key's or a signature's strength.
    static let minimumBits: Int32 = 112
}

extension ChainValidator {
    /// Makes an `SSL_CTX` one in which every handshake comes before the verify callback, and in which nothing is trusted without it.
    ///
    /// The server's certificate is always verified, the trust store is empty, sessions are neither cached nor resumed (a resumed one skips
    /// the callback), no handshake follows on a connection's first (TLS 1.2 has renegotiation), no key log is written, and neither
    /// openssl.cnf nor the environment can go below TLS 1.2 and security level 2.
    /// - Parameter sslContext: The `SSL_CTX`, before its first handshake and before the verify callback is set.
    /// - Returns: False when OpenSSL refuses one of the settings: the context must not be used.
    package static func harden(sslContext: OpaquePointer) -> Bool {
        guard let empty = X509_STORE_new() else { return false }
        SSL_CTX_set_cert_store(sslContext, empty)
        SSL_CTX_set_verify(sslContext, SSL_VERIFY_PEER, nil)
        COpenSSL_disable_session_cache(sslContext)
        COpenSSL_disable_tickets(sslContext)
        COpenSSL_disable_renegotiation(sslContext)
        SSL_CTX_set_keylog_callback(sslContext, nil)
        SSL_CTX_set_security_level(sslContext, SecurityLevel.minimum)
        return COpenSSL_require_tls12(sslContext) == 1
    }
}
