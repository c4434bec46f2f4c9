/// Optional whitespace: spaces and tabs (RFC 9110, section 5.6.3).
///
/// Public for the modules of this package alone (SPI): the compiler makes versions for their types only of public inlinable code, and every
/// header field is trimmed here.
@_spi(Internals) public enum OptionalWhitespace {
    /// Whether a byte is a space or a tab.
    @inlinable public static func contains(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Returns the bytes without the spaces and tabs around them.
    @inlinable public static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        var (start, end) = (bytes.startIndex, bytes.endIndex)
        while start < end, contains(bytes[start]) { bytes.formIndex(after: &start) }
        while start < end {
            let last = bytes.index(before: end)
            guard contains(bytes[last]) else { break }
            end = last
        }
        return bytes[start..<end]
    }
}
