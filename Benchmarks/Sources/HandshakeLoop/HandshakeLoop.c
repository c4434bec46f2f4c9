#include "HandshakeLoop.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int add_certificates(SSL_CTX *context, const char *chain) {
    BIO *bio = BIO_new_mem_buf(chain, -1);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    int isAdded = certificate && SSL_CTX_use_certificate(context, certificate) == 1;
    X509_free(certificate);
    while (isAdded && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        isAdded = SSL_CTX_add0_chain_cert(context, certificate) == 1;
    }
    BIO_free(bio);
    return isAdded;
}

static int add_key(SSL_CTX *context, const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    int isAdded = key && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return isAdded;
}

static int trust(SSL_CTX *context, const char *root) {
    BIO *bio = BIO_new_mem_buf(root, -1);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    int isAdded = certificate && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1;
    X509_free(certificate);
    BIO_free(bio);
    return isAdded;
}

// One handshake; the client's nanoseconds, or negative.
static double shake_hands(SSL_CTX *clients, SSL_CTX *servers, const char *host) {
    double spent = 0;
    double start = now();
    SSL *client = SSL_new(clients);
    SSL_set_tlsext_host_name(client, host);
    SSL_set1_host(client, host);
    SSL_set_connect_state(client);
    spent += now() - start;
    SSL *server = SSL_new(servers);
    SSL_set_accept_state(server);
    BIO *client_end = NULL, *server_end = NULL;
    BIO_new_bio_pair(&client_end, 1 << 16, &server_end, 1 << 16);
    SSL_set_bio(client, client_end, client_end);
    SSL_set_bio(server, server_end, server_end);
    for (int turn = 0; turn < 10 && !(SSL_is_init_finished(client) && SSL_is_init_finished(server)); turn++) {
        start = now();
        SSL_do_handshake(client);
        spent += now() - start;
        SSL_do_handshake(server);
    }
    int isDone = SSL_is_init_finished(client) && SSL_is_init_finished(server) && SSL_get_verify_result(client) == X509_V_OK;
    SSL_free(client);
    SSL_free(server);
    return isDone ? spent : -1;
}

double handshake_client_nanoseconds(const char *chain, const char *key, const char *root, const char *host, int count) {
    SSL_CTX *clients = SSL_CTX_new(TLS_client_method());
    SSL_CTX *servers = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_verify(clients, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(clients, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(servers, 0);
    double total = add_certificates(servers, chain) && add_key(servers, key) && trust(clients, root) ? 0 : -1;
    for (int index = 0; index < count && total >= 0; index++) {
        double spent = shake_hands(clients, servers, host);
        total = spent < 0 ? -1 : total + spent;
    }
    SSL_CTX_free(clients);
    SSL_CTX_free(servers);
    return total < 0 ? -1 : total / count;
}

double handshake_encode_keys_nanoseconds(const char *chain, int count) {
    BIO *bio = BIO_new_mem_buf(chain, -1);
    X509 *certificate;
    double total = 0;
    while (total >= 0 && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        double start = now();
        for (int index = 0; index < count; index++) {
            unsigned char *bytes = NULL;
            if (i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes) <= 0) { total = -1; }
            OPENSSL_free(bytes);
        }
        if (total >= 0) { total += (now() - start) / count; }
        X509_free(certificate);
    }
    BIO_free(bio);
    return total;
}
