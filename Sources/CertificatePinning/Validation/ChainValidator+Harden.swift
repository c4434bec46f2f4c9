internal import COpenSSL

extension ChainValidator {
    /// Hardens an `SSL_CTX`, so that it trusts no server without the verify callback.
    ///
    /// The server's certificate is always verified, and the trust store is empty. Sessions are neither cached nor resumed, because a
    /// resumed session skips the callback. Renegotiation, which TLS 1.2 allows, is off. No key log is written. Neither openssl.cnf nor the
    /// environment can lower the minimum of TLS 1.2 and security level 2. A context that requires more keeps its own minimum,
    /// for the connection; paths are judged by level 2.
    /// - Parameter sslContext: The `SSL_CTX`, before its first handshake and before the verify callback is set.
    /// - Returns: False when OpenSSL refuses a setting; the context must not be used then.
    package static func harden(sslContext: OpaquePointer) -> Bool {
        guard let empty = X509_STORE_new() else { return false }
        SSL_CTX_set_cert_store(sslContext, empty)
        SSL_CTX_set_verify(sslContext, SSL_VERIFY_PEER, nil)
        COpenSSL_disable_session_cache(sslContext)
        COpenSSL_disable_tickets(sslContext)
        COpenSSL_disable_renegotiation(sslContext)
        SSL_CTX_set_keylog_callback(sslContext, nil)
        SSL_CTX_set_security_level(sslContext, max(SSL_CTX_get_security_level(sslContext), SecurityLevel.minimum))
        return COpenSSL_require_tls12(sslContext) == 1
    }
}
