#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Functions that Swift can call, for what OpenSSL offers only as macros or with variadic types.

static inline int COpenSSL_chain_count(const STACK_OF(X509) *chain) { return chain ? sk_X509_num(chain) : 0; }

static inline X509 *COpenSSL_chain_certificate(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }

static inline STACK_OF(X509) *COpenSSL_chain_new(void) { return sk_X509_new_null(); }

/// Appends a certificate and adds a reference to it; 1 on success.
static inline int COpenSSL_chain_append(STACK_OF(X509) *chain, X509 *certificate) {
    return X509_add_cert(chain, certificate, X509_ADD_FLAG_UP_REF);
}

/// Frees the chain and its references, including those that COpenSSL_chain_append added.
static inline void COpenSSL_chain_free(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }

static inline void COpenSSL_free(void *pointer) { OPENSSL_free(pointer); }

static inline void COpenSSL_clear_free(void *pointer, size_t count) { OPENSSL_clear_free(pointer, count); }

static inline long COpenSSL_memory_bio(BIO *bio, const unsigned char **bytes) {
    char *data = NULL;
    long count = BIO_get_mem_data(bio, &data);
    *bytes = (const unsigned char *)data;
    return count;
}

/// Prints a name in the order and with the escapes of RFC 2253; control characters and everything beyond ASCII become \XX.
static inline int COpenSSL_print_name(BIO *bio, const X509_NAME *name) { return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253); }

static inline int COpenSSL_is_end_of_pem(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline void COpenSSL_disable_session_cache(SSL_CTX *context) { SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); }

static inline void COpenSSL_disable_tickets(SSL_CTX *context) { SSL_CTX_set_options(context, SSL_OP_NO_TICKET); }

static inline void COpenSSL_disable_renegotiation(SSL_CTX *context) { SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION); }

/// Requires TLS 1.2, or the later version that the context already requires; 1 on success.
static inline int COpenSSL_require_tls12(SSL_CTX *context) {
    // A lower bound of 0 means the lowest version that the library knows.
    long minimum = SSL_CTX_get_min_proto_version(context);
    if (minimum < TLS1_2_VERSION) { minimum = TLS1_2_VERSION; }
    // An upper bound of 0 means the highest version that the library knows, whatever openssl.cnf says.
    return SSL_CTX_set_max_proto_version(context, 0) && SSL_CTX_set_min_proto_version(context, minimum);
}
