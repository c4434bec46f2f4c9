/// Integers of one, two, four or eight bytes; the first two bits state the size (RFC 9000, section 16).
enum VariableLengthInteger {
    /// The largest value that can be encoded.
    static let max: UInt64 = 1 << 62 - 1

    /// The size of the shortest encoding of `value`, in bytes.
    static func size(of value: Int) -> Int {
        switch value {
        case ..<(1 << 6): 1
        case ..<(1 << 14): 2
        case ..<(1 << 30): 4
        default: 8
        }
    }

    /// Appends the shortest encoding of `value`, which must be from 0 to 2^62 - 1, as every count of bytes in memory is.
    @inline(__always)
    static func append(_ value: Int, to bytes: inout [UInt8]) {
        if (0..<1 << 6).contains(value) {
            bytes.append(UInt8(truncatingIfNeeded: value))
        } else {
            appendLonger(value, to: &bytes)
        }
    }

    private static func appendLonger(_ value: Int, to bytes: inout [UInt8]) {
        precondition(value >= 0 && UInt64(value) <= max, "a length must be less than 2^62")
        switch size(of: value) {
        case 2:
            bytes.append(UInt8(truncatingIfNeeded: value >> 8) | 0x40)
            bytes.append(UInt8(truncatingIfNeeded: value))
        case 4:
            bytes.append(UInt8(truncatingIfNeeded: value >> 24) | 0x80)
            for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        default:
            bytes.append(UInt8(truncatingIfNeeded: value >> 56) | 0xc0)
            for shift in [48, 40, 32, 24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
    }

    /// Reads an integer, in the shortest encoding or a longer one, and moves `offset` past it.
    ///
    /// - Returns: Nil, with `offset` unchanged, when bytes are missing.
    @inline(__always)
    static func read(_ bytes: Span<UInt8>, at offset: inout Int) -> UInt64? {
        let available = bytes.count - offset
        guard available > 0 else { return nil }
        let first = bytes[offset]
        if first < 0x40 {
            offset += 1
            return UInt64(first)
        }
        let size = 1 << Int(first >> 6)
        guard available >= size else { return nil }
        var value = UInt64(first & 0x3f)
        for index in offset + 1..<offset + size { value = value << 8 | UInt64(bytes[index]) }
        offset += size
        return value
    }
}
