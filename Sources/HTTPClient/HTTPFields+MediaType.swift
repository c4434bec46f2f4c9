@_spi(Internals) import ApproovBase
package import HTTPTypes

extension HTTPFields {
    /// The type and subtype that `Content-Type` names, in lower case and without parameters (RFC 9110, section 8.3.1).
    ///
    /// Empty when the field is missing or repeated.
    package var mediaType: String {
        let values = self[values: .contentType]
        guard values.count == 1 else { return "" }
        let type = values[0].utf8.prefix { $0 != UInt8(ascii: ";") }
        return Substring(OptionalWhitespace.trimmed(type)).lowercased()
    }
}
