internal import COpenSSL

/// Makes pins from SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
enum PublicKeyInfo {
    /// The pin of a key, exactly as its certificate or request encodes it.
    ///
    /// OpenSSL encodes every key type; this code never rebuilds an encoding from known prefixes.
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

    /// The pin of a key that was read outside a certificate or request.
    static func pin(ofKey key: OpaquePointer?) -> Pin? {
        guard let key else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &bytes)
        defer { COpenSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        return Pin(hashing: UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
