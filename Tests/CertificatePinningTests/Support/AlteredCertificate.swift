import ApproovTesting
import COpenSSL
import CertificatePinning
import Testing

/// Certificates that no sound PKI would issue: OpenSSL changes a minted certificate, and its issuer signs it again.
enum AlteredCertificate {
    /// Changes a certificate and signs it again.
    static func make(
        _ certificate: TestCertificate, signedBy issuer: TestKey, digest: OpaquePointer? = EVP_sha256(),
        change: (OpaquePointer) throws -> Void = { _ in }
    ) throws -> Certificate {
        let x509 = try certificate.der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return try #require(d2i_X509(nil, &cursor, buffer.count))
        }
        defer { X509_free(x509) }
        try change(x509)
        try KeyForms.withKey(issuer) { key in try #require(X509_sign(x509, key, digest) > 0) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(x509, &bytes)
        defer { COpenSSL_free(bytes) }
        return try Certificate(der: [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count))))
    }

    /// Replaces an extension with a value in the syntax of openssl.cnf (x509v3_config(5)).
    static func setExtension(_ x509: OpaquePointer, _ identifier: Int32, _ value: String) throws {
        removeExtension(x509, identifier)
        let made = try #require(X509V3_EXT_conf_nid(nil, nil, identifier, value))
        defer { X509_EXTENSION_free(made) }
        try #require(X509_add_ext(x509, made, -1) == 1)
    }

    /// Replaces the subject alternative name with one DNS name of arbitrary bytes.
    static func setDNSName(_ x509: OpaquePointer, _ name: [UInt8]) throws {
        removeExtension(x509, NID_subject_alt_name)
        // SEQUENCE { [2] IA5String }, RFC 5280, section 4.2.1.6
        let der = [0x30, UInt8(name.count + 2), 0x82, UInt8(name.count)] + name
        let octets = try #require(ASN1_OCTET_STRING_new())
        defer { ASN1_OCTET_STRING_free(octets) }
        try #require(ASN1_OCTET_STRING_set(octets, der, Int32(der.count)) == 1)
        let made = try #require(X509_EXTENSION_create_by_NID(nil, NID_subject_alt_name, 0, octets))
        defer { X509_EXTENSION_free(made) }
        try #require(X509_add_ext(x509, made, -1) == 1)
    }

    /// Removes an extension if the certificate has it.
    static func removeExtension(_ x509: OpaquePointer, _ identifier: Int32) {
        let index = X509_get_ext_by_NID(x509, identifier, -1)
        if index >= 0 { X509_EXTENSION_free(X509_delete_ext(x509, index)) }
    }
}
