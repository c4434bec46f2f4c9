internal import COpenSSL

/// SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
enum PublicKeyInfo {
    /// The pin of a key as its certificate or request encodes it.
    ///
    /// The encoding is OpenSSL's own for every key type: nothing is rebuilt from known prefixes.
    static func pin(_ key: OpaquePointer?) -> Pin? {
        guard let key else { return nil }
        let count = i2d_X509_PUBKEY(key, nil)
        guard count > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(count)) { buffer in
            var cursor = buffer.baseAddress
            guard i2d_X509_PUBKEY(key, &cursor) == count else { return nil }
            return Pin(hashing: UnsafeBufferPointer(buffer))
        }
    }

    /// The pin of a key that was read by itself.
    static func pin(ofKey key: OpaquePointer?) -> Pin? {
        guard let key else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &bytes)
        defer { COpenSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        return Pin(hashing: UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
