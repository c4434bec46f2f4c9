extension [UInt8] {
    /// Appends a string of a structured field (RFC 9651, section 4.1.6).
    ///
    /// The text is printable ASCII.
    mutating func appendQuoted(_ text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append(UInt8(ascii: "\\")) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends bytes without the spaces and tabs around them.
    mutating func appendTrimmed(_ bytes: UnsafeBufferPointer<UInt8>) {
        var (start, end) = (bytes.startIndex, bytes.endIndex)
        while start < end, Self.isBlank(bytes[start]) { start += 1 }
        while start < end, Self.isBlank(bytes[end - 1]) { end -= 1 }
        append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
    }

    mutating func appendSeparator() {
        append(UInt8(ascii: ","))
        append(UInt8(ascii: " "))
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
