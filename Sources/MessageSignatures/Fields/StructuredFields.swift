internal import ApproovBase
internal import RawStructuredFieldValues

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
    /// - Returns: These fields and the added ones, which win.
    public func adding(_ types: [String: FieldType]) -> StructuredFields { StructuredFields(self.types.merging(types) { $1 }) }

    /// The strict form of a field's value, or of one member of a dictionary (RFC 9421, sections 2.1.1 and 2.1.2).
    ///
    /// - Parameters:
    ///   - value: The lines of the field, joined.
    ///   - name: The field's name in lower case.
    ///   - member: The member's key; nil for the whole value.
    /// - Returns: The strict form.
    /// - Throws: ``MessageSignatureError`` with code `invalidComponent` when the field is not known, or has no members; with code
    ///   `malformedField` when the value is malformed; with code `missingComponent` when there is no such member.
    func canonical(_ value: [UInt8], ofField name: String, member: String?) throws(MessageSignatureError) -> [UInt8] {
        let type = types[name]
        guard let type, member == nil || type == .dictionary else {
            throw MessageSignatureError(
                .invalidComponent, "\(LoggableText.name(name)) is not known as a structured field\(member == nil ? "" : " with members")")
        }
        do {
            var parser = StructuredFieldValueParser(value)
            var serializer = StructuredFieldValueSerializer()
            switch type {
            case .item: return try serializer.writeItemFieldValue(try parser.parseItemFieldValue())
            case .list: return try serializer.writeListFieldValue(try parser.parseListFieldValue())
            case .dictionary:
                let dictionary = try parser.parseDictionaryFieldValue()
                guard let member else { return try serializer.writeDictionaryFieldValue(dictionary) }
                switch dictionary[member] {
                case .item(let item): return try serializer.writeItemFieldValue(item)
                case .innerList(let list): return try serializer.writeListFieldValue([.innerList(list)])
                case nil: break
                }
            }
        } catch {
            throw MessageSignatureError(
                .malformedField, "\(LoggableText.name(name)) is not the structured field that it must be (RFC 9651)")
        }
        throw MessageSignatureError(.missingComponent, "\(LoggableText.name(name)) lacks a covered member")
    }
}
