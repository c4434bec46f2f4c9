#pragma once

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

// OpenSSL's ex_data calls are macros or take function pointers that Swift spells awkwardly.

typedef void (*copenssl_release_function)(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp);

// A new slot in every SSL_CTX; `release` is called with the slot's pointer when the SSL_CTX is freed.
static inline int copenssl_ssl_ctx_new_slot(copenssl_release_function release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

static inline void copenssl_ssl_ctx_set_verify(SSL_CTX *context, int (*verify)(X509_STORE_CTX *, void *), void *argument) {
    SSL_CTX_set_cert_verify_callback(context, verify, argument);
}
