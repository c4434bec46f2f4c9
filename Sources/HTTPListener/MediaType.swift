package import HTTPTypes

/// Media types as RFC 9110 section 8.3.1 has them compared: without regard to case and parameters.
package enum MediaType {
    /// Type and subtype in lower case, without parameters; empty when the text has none.
    package static func essence(_ value: String) -> String {
        let name = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        return name.lowercased()
    }

    /// The essence of a message's `Content-Type`; empty when it has none, or more than one.
    package static func essence(of fields: HTTPFields) -> String {
        let values = fields[values: .contentType]
        return values.count == 1 ? essence(values[0]) : ""
    }
}
