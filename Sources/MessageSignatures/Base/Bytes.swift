@_spi(Internals) import ApproovBase

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
        append(contentsOf: UnsafeBufferPointer(rebasing: OptionalWhitespace.trimmed(bytes)))
    }

    mutating func appendSeparator() {
        append(UInt8(ascii: ","))
        append(UInt8(ascii: " "))
    }
}
