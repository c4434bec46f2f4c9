#include "COpenSSLStart.h"

#include <openssl/crypto.h>
#include <stdlib.h>

/// Settles what the process-wide OpenSSL does on its own. Before main, because the first to use it decides: Foundation's URLSession
/// would, for instance.
///
/// - When the process ends nothing is freed: `exit` would pull OpenSSL's tables away under handshakes and signatures of other threads,
///   and end the process with SIGSEGV now and then.
/// - OPENSSL_CONF has no say. It may name a file that loads code or weakens TLS; with it set, no configuration is loaded at all. The
///   system's own openssl.cnf (FIPS providers, for instance) stays in force otherwise.
///
/// Its priority puts it before every function without one, CLibCurlStart's for instance, which sets OpenSSL up, too.
__attribute__((constructor(101))) static void start(void) {
    uint64_t options = OPENSSL_INIT_NO_ATEXIT;
    if (getenv("OPENSSL_CONF")) { options |= OPENSSL_INIT_NO_LOAD_CONFIG; }
    OPENSSL_init_crypto(options, NULL);
}
