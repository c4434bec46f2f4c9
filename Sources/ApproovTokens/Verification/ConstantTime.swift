import COpenSSL

/// Comparisons whose time does not depend on the position of the first difference.
enum ConstantTime {
    /// Whether two sequences of bytes are equal; their lengths are not secret.
    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
    }

    /// Whether two sequences of bytes are equal; their lengths are not secret.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { areEqual(left, $0) } }
    }
}
