import COpenSSL

/// The process-wide OpenSSL.
enum OpenSSLLibrary {
    /// Keeps OpenSSL from freeing its tables when the process ends, unless it was used before: what calls it first calls this before.
    ///
    /// `exit` would pull them away under signatures of other threads, and end the process with SIGSEGV now and then.
    static func prepare() { _ = isPrepared }

    private static let isPrepared = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
