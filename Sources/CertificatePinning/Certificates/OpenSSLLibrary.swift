internal import COpenSSL
internal import Foundation

/// The process-wide OpenSSL.
package enum OpenSSLLibrary {
    /// Keeps `OPENSSL_CONF` from having a say, unless OpenSSL was used before.
    ///
    /// It may name a file that loads code or weakens TLS; with it set, no configuration is loaded at all. The system's own `openssl.cnf`
    /// (FIPS providers, for instance) stays in force otherwise. What calls OpenSSL first calls this before: afterwards it has no effect.
    package static func prepare() { _ = isPrepared }

    private static let isPrepared: Bool = {
        guard getenv("OPENSSL_CONF") != nil else { return true }
        return OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
    }()
}
