#pragma once

#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// Copies a certificate, with one DNS name as its only subject alternative name; NULL when OpenSSL has no memory.
///
/// The host name is copied too. The copy's signature is not valid: the copy serves only to judge the name.
static inline X509 *COpenSSL_copy_for_host(X509 *certificate, const char *host, int length) {
    X509 *copy = X509_dup(certificate);
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    int is_made = copy && names && name && text && ASN1_STRING_set(text, host, length);
    if (is_made) {
        GENERAL_NAME_set0_value(name, GEN_DNS, text);
        text = NULL;
        is_made = sk_GENERAL_NAME_push(names, name) > 0;
        if (is_made) { name = NULL; }
    }
    is_made = is_made && X509_add1_ext_i2d(copy, NID_subject_alt_name, names, 0, X509V3_ADD_REPLACE) == 1;
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(name);
    GENERAL_NAMES_free(names);
    if (!is_made) {
        X509_free(copy);
        return NULL;
    }
    return copy;
}

/// Whether the value of an extension parses; also 1 for an extension that OpenSSL does not know.
static inline int COpenSSL_extension_parses(X509_EXTENSION *extension) {
    const X509V3_EXT_METHOD *method = X509V3_EXT_get(extension);
    if (!method) { return 1; }
    void *value = X509V3_EXT_d2i(extension);
    if (!value) { return 0; }
    if (method->it) {
        ASN1_item_free(value, ASN1_ITEM_ptr(method->it));
    } else {
        method->ext_free(value);
    }
    return 1;
}
