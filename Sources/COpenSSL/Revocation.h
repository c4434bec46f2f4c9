#pragma once

#include <openssl/ocsp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// The NID of the digest of an RSASSA-PSS signature (RFC 4055, section 3.1); NID_undef when its parameters do not parse.
static inline int COpenSSL_pss_digest(const X509_ALGOR *algorithm) {
    RSA_PSS_PARAMS *parameters = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(RSA_PSS_PARAMS), algorithm->parameter);
    if (!parameters) { return NID_undef; }
    int digest = parameters->hashAlgorithm ? OBJ_obj2nid(parameters->hashAlgorithm->algorithm) : NID_sha1;
    RSA_PSS_PARAMS_free(parameters);
    return digest;
}

// Functions for OpenSSL's typed stacks, which are macros.

static inline int COpenSSL_texts_count(const STACK_OF(OPENSSL_STRING) *texts) { return texts ? sk_OPENSSL_STRING_num(texts) : 0; }

static inline const char *COpenSSL_texts_value(const STACK_OF(OPENSSL_STRING) *texts, int index) {
    return sk_OPENSSL_STRING_value(texts, index);
}

static inline int COpenSSL_accesses_count(const AUTHORITY_INFO_ACCESS *accesses) { return sk_ACCESS_DESCRIPTION_num(accesses); }

/// The NID of the access method of an entry of the authority information access.
static inline int COpenSSL_accesses_method(const AUTHORITY_INFO_ACCESS *accesses, int index) {
    return OBJ_obj2nid(sk_ACCESS_DESCRIPTION_value(accesses, index)->method);
}

static inline int COpenSSL_points_count(const CRL_DIST_POINTS *points) { return points ? sk_DIST_POINT_num(points) : 0; }

static inline const DIST_POINT *COpenSSL_points_value(const CRL_DIST_POINTS *points, int index) {
    return sk_DIST_POINT_value(points, index);
}

/// The full name of a distribution point; NULL if it has another kind of name.
static inline const GENERAL_NAMES *COpenSSL_point_names(const DIST_POINT *point) {
    return point->distpoint && point->distpoint->type == 0 ? point->distpoint->name.fullname : NULL;
}

/// Whether a distribution point's CRL lists every reason and comes from the certificate's own issuer.
static inline int COpenSSL_point_is_plain(const DIST_POINT *point) { return point->reasons == NULL && point->CRLissuer == NULL; }

static inline int COpenSSL_names_count(const GENERAL_NAMES *names) { return names ? sk_GENERAL_NAME_num(names) : 0; }

/// The URI of a name; NULL if the name is of another kind.
static inline const ASN1_IA5STRING *COpenSSL_names_uri(const GENERAL_NAMES *names, int index) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    return name && name->type == GEN_URI ? name->d.uniformResourceIdentifier : NULL;
}

static inline STACK_OF(X509_CRL) *COpenSSL_crls_new(void) { return sk_X509_CRL_new_null(); }

/// Appends a list, which the stack does not own.
static inline int COpenSSL_crls_append(STACK_OF(X509_CRL) *lists, X509_CRL *list) { return sk_X509_CRL_push(lists, list); }

static inline void COpenSSL_crls_free(STACK_OF(X509_CRL) *lists) { sk_X509_CRL_free(lists); }
