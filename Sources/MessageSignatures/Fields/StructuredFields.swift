internal import ApproovBase

/// The structured fields that an application knows (RFC 9651).
///
/// Only for a known field can the component parameters `sf` and `key` be used, because its strict form depends on its type. The field may have
/// at most 16 KiB in all its lines, and at most 64 commas and semicolons together: the time to read it grows with the square of their number,
/// and a verifier reads it before it checks the signature.
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

    /// The most bytes of a value, all lines joined.
    private static let maximumBytes = 16 * 1024
    /// The most commas and semicolons of a value, in strings too.
    private static let maximumSeparators = 64

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
    ///   value is malformed, too long, or has too many members and parameters.
    func read(_ value: [UInt8], ofField name: String) throws(MessageSignatureError) -> StructuredField {
        guard let type = types[name] else {
            throw MessageSignatureError(.invalidComponent, "\(LoggableText.name(name)) is not known as a structured field")
        }
        // The parser compares each key with all earlier ones.
        guard value.count <= Self.maximumBytes,
            value.count(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }) <= Self.maximumSeparators
        else {
            throw MessageSignatureError(
                .malformedField,
                "\(LoggableText.name(name)) has more than \(Self.maximumBytes) bytes, or more than \(Self.maximumSeparators) commas and "
                    + "semicolons")
        }
        do {
            return StructuredField(name: name, value: try StructuredField.Value(value, type))
        } catch {
            throw MessageSignatureError(
                .malformedField, "\(LoggableText.name(name)) is not a valid structured field of its type (RFC 9651)")
        }
    }
}
