internal import COpenSSL
internal import Foundation

/// The process-wide OpenSSL.
package enum OpenSSLLibrary {
    /// Settles what OpenSSL does on its own, unless it was used before: what calls it first calls this before.
    ///
    /// - When the process ends, OpenSSL frees nothing: `exit` would pull the memory away under handshakes and signatures of other
    ///   threads, and end the process with SIGSEGV now and then.
    /// - `OPENSSL_CONF` has no say. It may name a file that loads code or weakens TLS; with it set, no configuration is loaded at all.
    ///   The system's own `openssl.cnf` (FIPS providers, for instance) stays in force otherwise.
    package static func prepare() { _ = isPrepared }

    private static let isPrepared: Bool = {
        let configuration = getenv("OPENSSL_CONF") == nil ? 0 : OPENSSL_INIT_NO_LOAD_CONFIG
        return OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT | configuration), nil) == 1
    }()
}
