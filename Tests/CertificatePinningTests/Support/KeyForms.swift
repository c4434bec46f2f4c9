import ApproovTesting
import COpenSSL
import Testing

/// The encodings of a key that OpenSSL can write.
enum KeyForms {
    static func privateKeyDER(_ key: TestKey) throws -> [UInt8] {
        try withKey(key) { key in try written { i2d_PrivateKey_bio($0, key) } }
    }

    static func pkcs8PEM(_ key: TestKey) throws -> [UInt8] {
        try withKey(key) { key in try written { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) } }
    }

    static func pkcs8DER(_ key: TestKey) throws -> [UInt8] {
        try withKey(key) { key in try written { i2d_PKCS8PrivateKey_bio($0, key, nil, nil, 0, nil, nil) } }
    }

    static func pkcs1PublicDER(_ key: TestKey) throws -> [UInt8] {
        try withKey(key) { key in
            var bytes: UnsafeMutablePointer<UInt8>?
            let count = i2d_PublicKey(key, &bytes)
            defer { COpenSSL_free(bytes) }
            return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
        }
    }

    static func requestDER(_ key: TestKey) throws -> [UInt8] {
        try withRequest(key) { request in try written { i2d_X509_REQ_bio($0, request) } }
    }

    static func requestPEM(_ key: TestKey) throws -> [UInt8] {
        try withRequest(key) { request in try written { PEM_write_bio_X509_REQ($0, request) } }
    }

    /// PKCS #8 and the traditional form, in PEM and in DER, encrypted with a passphrase.
    static func encrypted(_ key: TestKey) throws -> [[UInt8]] {
        var passphrase = Array("secret".utf8)
        let count = Int32(passphrase.count)
        return try withKey(key) { key in
            try [
                written { bio in
                    passphrase.withUnsafeMutableBytes {
                        PEM_write_bio_PKCS8PrivateKey(
                            bio, key, EVP_aes_256_cbc(), $0.bindMemory(to: CChar.self).baseAddress, count, nil, nil)
                    }
                },
                written { bio in
                    passphrase.withUnsafeMutableBytes {
                        i2d_PKCS8PrivateKey_bio(bio, key, EVP_aes_256_cbc(), $0.bindMemory(to: CChar.self).baseAddress, count, nil, nil)
                    }
                },
                written { bio in
                    passphrase.withUnsafeBytes {
                        PEM_write_bio_PrivateKey_traditional(
                            bio, key, EVP_aes_256_cbc(), $0.bindMemory(to: UInt8.self).baseAddress, count, nil, nil)
                    }
                },
            ]
        }
    }

    static func withKey<Value>(_ key: TestKey, _ body: (OpaquePointer) throws -> Value) throws -> Value {
        let pem = Array(key.privateKeyPEM.utf8)
        return try pem.withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            defer { BIO_free(bio) }
            let parsed = try #require(PEM_read_bio_PrivateKey(bio, nil, nil, nil))
            defer { EVP_PKEY_free(parsed) }
            return try body(parsed)
        }
    }

    private static func withRequest<Value>(_ key: TestKey, _ body: (OpaquePointer) throws -> Value) throws -> Value {
        try withKey(key) { key in
            let request = try #require(X509_REQ_new())
            defer { X509_REQ_free(request) }
            try #require(X509_REQ_set_pubkey(request, key) == 1)
            let isEd25519 = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519
            try #require(X509_REQ_sign(request, key, isEd25519 ? nil : EVP_sha256()) > 0)
            return try body(request)
        }
    }

    private static func written(_ write: (OpaquePointer) -> Int32) throws -> [UInt8] {
        let bio = try #require(BIO_new(BIO_s_mem()))
        defer { BIO_free(bio) }
        try #require(write(bio) == 1)
        var bytes: UnsafePointer<UInt8>?
        let count = COpenSSL_memory_bio(bio, &bytes)
        return [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    }
}
