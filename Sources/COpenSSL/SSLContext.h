#pragma once

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

// Wrappers for OpenSSL's ex_data calls, which are macros or take function pointers that are awkward in Swift.

typedef void (*copenssl_release_function)(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp);

// Makes a slot in every SSL_CTX; OpenSSL calls `release` with the slot's pointer when it frees an SSL_CTX.
static inline int copenssl_ssl_ctx_new_slot(copenssl_release_function release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

static inline void copenssl_ssl_ctx_set_verify(SSL_CTX *context, int (*verify)(X509_STORE_CTX *, void *), void *argument) {
    SSL_CTX_set_cert_verify_callback(context, verify, argument);
}

/// Asks servers for a stapled OCSP response (RFC 6066, section 8) in every handshake of the context.
static inline void COpenSSL_request_status(SSL_CTX *context) { SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp); }

/// Sets the callback that OpenSSL calls once in every handshake that asked for the response, whether or not the server sent one.
static inline void COpenSSL_set_status_callback(SSL_CTX *context, int (*status)(SSL *, void *), void *argument) {
    SSL_CTX_set_tlsext_status_cb(context, status);
    SSL_CTX_set_tlsext_status_arg(context, argument);
}

/// Returns the length of the stapled response; -1 if there is none.
static inline long COpenSSL_stapled_response(SSL *ssl, const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}

/// Returns the connection in whose handshake the certificates are verified.
static inline SSL *COpenSSL_ssl_of(X509_STORE_CTX *context) {
    return (SSL *)X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
}

static inline int COpenSSL_use_identity(SSL_CTX *context, X509 *certificate, EVP_PKEY *key, STACK_OF(X509) *chain) {
    return SSL_CTX_use_cert_and_key(context, certificate, key, chain, 1);
}
