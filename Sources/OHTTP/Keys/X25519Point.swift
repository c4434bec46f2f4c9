/// The check of X25519 public keys that RFC 9180, section 7.1.4 requires and swift-crypto leaves to its callers.
enum X25519Point {
    /// Whether every shared secret with this public key is zero, so that anyone knows it.
    ///
    /// True for the points of order 1, 2, 4 and 8, including their non-reduced encodings (https://cr.yp.to/ecdh.html#validate). The highest
    /// bit is not part of a point (RFC 7748, section 5).
    static func isLowOrder(_ bytes: some Collection<UInt8>) -> Bool {
        var point = [UInt8](bytes)
        guard point.count == 32 else { return false }
        point[31] &= 0x7f
        return lowOrder.contains(point)
    }

    static let lowOrder: [[UInt8]] = [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
        [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
            0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
        ],
        [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
            0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
        ],
        // p − 1, p and p + 1, where p is 2^255 − 19.
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xee] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
    ]
}
