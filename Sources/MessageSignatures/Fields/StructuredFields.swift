internal import ApproovBase

/// The structured fields that an application knows (RFC 9651).
///
/// Only for a known field can the component parameters `sf` and `key` be used, because its strict form depends on its type.
public struct StructuredFields: Sendable {
    /// The type of a structured field (RFC 9651, section 3).
    public enum FieldType: Sendable {
        /// One item.
        case item
        /// A list.
        case list
        /// A dictionary.
        case dictionary
    }

    private let types: [String: FieldType]

    /// Fields of RFC 9421, RFC 9530 and of other RFCs that a signature may want to cover.
    public static let known = StructuredFields([
        "accept-signature": .dictionary, "cache-status": .list, "cdn-cache-control": .dictionary, "client-cert": .item,
        "client-cert-chain": .list, "content-digest": .dictionary, "priority": .dictionary, "proxy-status": .list,
        "repr-digest": .dictionary, "signature": .dictionary, "signature-input": .dictionary, "want-content-digest": .dictionary,
        "want-repr-digest": .dictionary,
    ])

    /// Makes a list of fields.
    ///
    /// - Parameter types: The type of each field; the names are in lower case.
    public init(_ types: [String: FieldType]) { self.types = types }

    /// Adds fields.
    ///
    /// - Parameter types: The type of each field; the names are in lower case.
    /// - Returns: These fields and the added ones, which replace fields of the same name.
    public func adding(_ types: [String: FieldType]) -> StructuredFields { StructuredFields(self.types.merging(types) { $1 }) }

    /// Reads the value of a field.
    ///
    /// - Parameters:
    ///   - value: The lines of the field, joined.
    ///   - name: The field's name in lower case.
    /// - Returns: The field.
    /// - Throws: ``MessageSignatureError`` with code `invalidComponent` when the field is not known, with code `malformedField` when the
    ///   value is malformed.
    func read(_ value: [UInt8], ofField name: String) throws(MessageSignatureError) -> StructuredField {
        guard let type = types[name] else {
            throw MessageSignatureError(.invalidComponent, "\(LoggableText.name(name)) is not known as a structured field")
        }
        do {
            return StructuredField(name: name, value: try StructuredField.Value(value, type))
        } catch {
            throw MessageSignatureError(
                .malformedField, "\(LoggableText.name(name)) is not the structured field that it must be (RFC 9651)")
        }
    }
}
