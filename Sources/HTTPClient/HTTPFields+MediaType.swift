package import HTTPTypes

extension HTTPFields {
    /// The type and subtype that `Content-Type` names, in lower case and without parameters (RFC 9110, section 8.3.1).
    ///
    /// Empty when the field is missing or repeated.
    package var mediaType: String {
        let values = self[values: .contentType]
        guard values.count == 1 else { return "" }
        var type = values[0].utf8.prefix { $0 != UInt8(ascii: ";") }
        while let first = type.first, isBlank(first) { type.removeFirst() }
        while let last = type.last, isBlank(last) { type.removeLast() }
        return Substring(type).lowercased()
    }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
