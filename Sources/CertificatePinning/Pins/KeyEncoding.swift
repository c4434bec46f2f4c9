internal import ApproovBase
internal import COpenSSL

/// Reads a public key from any of its encodings: by PEM label (RFC 7468 and OpenSSL's older ones), or for DER by trying each.
enum KeyEncoding {
    private static let encrypted = PinningError(
        .encryptedKey, "the private key is encrypted; give its certificate or public key instead (`openssl pkey -in FILE -pubout`)")

    /// The pin of a PEM block; nil for one without a key, such as the parameters before an EC key.
    static func pin(_ block: PEM.Block) throws -> Pin? {
        let pin: Pin?
        switch block.label {
        case "CERTIFICATE", "X509 CERTIFICATE": return try Certificate(der: block.bytes).pin
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": pin = request(block.bytes)
        case "PUBLIC KEY": pin = publicKey(block.bytes)
        case "RSA PUBLIC KEY": pin = rsaPublicKey(block.bytes)
        case "ENCRYPTED PRIVATE KEY": throw encrypted
        case let label where label.hasSuffix("PRIVATE KEY"):
            // Proc-Type: 4,ENCRYPTED (RFC 1421, section 4.6.1.1)
            guard !block.header.contains("ENCRYPTED") else { throw encrypted }
            pin = privateKey(block.bytes)
        case "EC PARAMETERS", "DH PARAMETERS", "DSA PARAMETERS": return nil
        default:
            throw PinningError(
                .malformedKey,
                "the PEM block \"\(LoggableText.quoted(block.label))\" contains no key; give a certificate, certificate request or key")
        }
        guard let pin else {
            throw PinningError(
                .malformedKey, "the PEM block \"\(LoggableText.quoted(block.label))\" cannot be parsed (\(OpenSSLText.takeError()))")
        }
        return pin
    }

    /// The pin of a key in any of the encodings, in DER.
    static func pin(anyDER bytes: [UInt8]) throws -> Pin {
        if let certificate = try? Certificate(der: bytes) { return certificate.pin }
        if isEncryptedPrivateKey(bytes) { throw encrypted }
        guard let pin = request(bytes) ?? publicKey(bytes) ?? privateKey(bytes) ?? rsaPublicKey(bytes) else {
            throw PinningError(.malformedKey, "the file is not a certificate, certificate request or key in PEM or DER")
        }
        return pin
    }

    private static func request(_ bytes: [UInt8]) -> Pin? {
        parse(bytes, { d2i_X509_REQ(nil, $0, $1) }, X509_REQ_free) { PublicKeyInfo.pin(X509_REQ_get_X509_PUBKEY($0)) }
    }

    private static func publicKey(_ bytes: [UInt8]) -> Pin? {
        parse(bytes, { d2i_X509_PUBKEY(nil, $0, $1) }, X509_PUBKEY_free) { key in
            // If OpenSSL cannot read the key in a SubjectPublicKeyInfo, no server can have this pin.
            X509_PUBKEY_get0(key) == nil ? nil : PublicKeyInfo.pin(key)
        }
    }

    private static func rsaPublicKey(_ bytes: [UInt8]) -> Pin? {
        parse(bytes, { d2i_PublicKey(EVP_PKEY_RSA, nil, $0, $1) }, EVP_PKEY_free) { PublicKeyInfo.pin(ofKey: $0) }
    }

    private static func privateKey(_ bytes: [UInt8]) -> Pin? {
        parse(bytes, { d2i_AutoPrivateKey(nil, $0, $1) }, EVP_PKEY_free) { PublicKeyInfo.pin(ofKey: $0) }
    }

    /// Whether the bytes are an EncryptedPrivateKeyInfo (RFC 5958, section 3), which has the shape of X509_SIG.
    ///
    /// This is checked first, so that no decoder ever asks for a passphrase.
    static func isEncryptedPrivateKey(_ bytes: [UInt8]) -> Bool {
        parse(bytes, { d2i_X509_SIG(nil, $0, $1) }, X509_SIG_free) { _ in true } ?? false
    }

    private static func parse<Value>(
        _ bytes: [UInt8],
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
        _ free: (OpaquePointer?) -> Void,
        _ use: (OpaquePointer) -> Value?
    ) -> Value? {
        return bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let object = read(&cursor, buffer.count) else { return nil }
            defer { free(object) }
            // If bytes follow, the input is not what was parsed.
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else { return nil }
            return use(object)
        }
    }
}
