#include "COpenSSLStart.h"

#include <openssl/crypto.h>
#include <stdlib.h>

/// Configures the process-wide OpenSSL before main, because its first user would decide: Foundation's URLSession, for instance.
///
/// - OpenSSL frees nothing when the process ends: `exit` would free its tables under the handshakes and signatures of other threads, and
///   now and then end the process with SIGSEGV.
/// - The file that OPENSSL_CONF names is never loaded, because it may load code or weaken TLS. If the variable is set, OpenSSL loads no
///   configuration at all, not even the system's. Otherwise the system's openssl.cnf (FIPS providers, for instance) stays in force.
///
/// The priority runs this before every constructor without one, for instance that of CLibCurlStart, which initialises OpenSSL as well.
__attribute__((constructor(101))) static void start(void) {
    uint64_t options = OPENSSL_INIT_NO_ATEXIT;
    if (getenv("OPENSSL_CONF")) { options |= OPENSSL_INIT_NO_LOAD_CONFIG; }
    OPENSSL_init_crypto(options, NULL);
}
