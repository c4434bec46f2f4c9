internal import COpenSSL

/// Reads PKCS #12 (RFC 7292).
enum PKCS12Reader {
    /// The certificates, the key's own first, and the key; the caller must free the key.
    static func read(_ bytes: [UInt8], password: (() throws -> String?)?) throws -> ([Certificate], OpaquePointer) {
        guard bytes.count <= PrivateKeyReader.maximumSize else {
            throw PinningError(.malformedKey, "the PKCS #12 file has more than \(PrivateKeyReader.maximumSize) bytes")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        let parsed = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let parsed = d2i_PKCS12(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                PKCS12_free(parsed)
                return nil
            }
            return parsed
        }
        guard let parsed else { throw PinningError(.malformedKey, "the bytes are not a PKCS #12 file (\(OpenSSLText.takeError()))") }
        defer { PKCS12_free(parsed) }
        guard PKCS12_mac_present(parsed) == 1 else {
            throw PinningError(.malformedKey, "the PKCS #12 file has no MAC; export it again with a password")
        }
        return try open(parsed, password: try password?())
    }

    private static func open(_ parsed: OpaquePointer, password: String?) throws -> ([Certificate], OpaquePointer) {
        // "No password" is encoded in two ways (RFC 7292, appendix B.1): as an empty password, and as no password at all.
        let isOpen = password.map { PKCS12_verify_mac(parsed, $0, -1) == 1 }
        guard isOpen ?? (PKCS12_verify_mac(parsed, nil, 0) == 1 || PKCS12_verify_mac(parsed, "", 0) == 1) else {
            throw PinningError(.wrongPassword, "the password does not open the PKCS #12 file (\(OpenSSLText.takeError()))")
        }
        ERR_clear_error()
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        let isRead = PKCS12_parse(parsed, password, &key, &certificate, &others) == 1
        defer { COpenSSL_chain_free(others) }
        guard isRead, let key else {
            EVP_PKEY_free(key)
            X509_free(certificate)
            throw PinningError(
                .malformedKey,
                isRead
                    ? "the PKCS #12 file contains no private key"
                    : "the PKCS #12 file cannot be read (\(OpenSSLText.takeError())); if it was written with an old cipher such as RC2,"
                        + " convert it with `openssl pkcs12 -legacy`")
        }
        do {
            let own = try certificate.map { [try Certificate(owning: $0)] } ?? []
            return (own + PresentedPath.array(others), key)
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
    }
}
