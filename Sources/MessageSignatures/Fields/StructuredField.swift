internal import ApproovBase
internal import RawStructuredFieldValues

/// A structured field that has been read (RFC 9651).
struct StructuredField {
    enum Value {
        case item(Item)
        case list([ItemOrInnerList])
        case dictionary(OrderedMap<String, ItemOrInnerList>)

        init(_ text: [UInt8], _ type: StructuredFields.FieldType) throws {
            var parser = StructuredFieldValueParser(text)
            switch type {
            case .item: self = .item(try parser.parseItemFieldValue())
            case .list: self = .list(try parser.parseListFieldValue())
            case .dictionary: self = .dictionary(try parser.parseDictionaryFieldValue())
            }
        }
    }

    let name: String
    let value: Value

    /// The strict form of the whole value, or of one member of a dictionary (RFC 9421, sections 2.1.1 and 2.1.2).
    ///
    /// - Parameter member: The member's key; nil for the whole value.
    /// - Returns: The strict form.
    /// - Throws: ``MessageSignatureError`` with code `invalidComponent` when the field has no members, `missingComponent` when it lacks this
    ///   one, and `malformedField` when the value cannot be written.
    func strictForm(of member: String?) throws(MessageSignatureError) -> [UInt8] {
        do {
            var serializer = StructuredFieldValueSerializer()
            switch (value, member) {
            case (.item(let item), nil): return try serializer.writeItemFieldValue(item)
            case (.list(let list), nil): return try serializer.writeListFieldValue(list)
            case (.dictionary(let dictionary), nil): return try serializer.writeDictionaryFieldValue(dictionary)
            case (.dictionary(let dictionary), let member?):
                switch dictionary[member] {
                case .item(let item): return try serializer.writeItemFieldValue(item)
                case .innerList(let list): return try serializer.writeListFieldValue([.innerList(list)])
                case nil: break
                }
            case (.item, _?), (.list, _?):
                throw MessageSignatureError(.invalidComponent, "\(LoggableText.name(name)) has no members")
            }
        } catch let error as MessageSignatureError {
            throw error
        } catch {
            throw MessageSignatureError(.malformedField, "\(LoggableText.name(name)) cannot be written in its strict form (RFC 9651)")
        }
        throw MessageSignatureError(.missingComponent, "\(LoggableText.name(name)) lacks a covered member")
    }
}
