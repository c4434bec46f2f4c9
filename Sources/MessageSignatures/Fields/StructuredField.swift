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
            case .item: self = .item(try parser.parseItemFieldValue().canonical())
            case .list: self = .list(try parser.parseListFieldValue().map { try $0.canonical() })
            case .dictionary:
                var members = try parser.parseDictionaryFieldValue()
                for index in members.indices {
                    let (key, value) = members[index]
                    members[index] = (key, try value.canonical())
                }
                self = .dictionary(members)
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

// The parser neither decodes byte sequences nor checks them. Their strict form is padded base64 without stray bits (RFC 9651, section
// 4.1.8), although a sender may leave out the padding (section 4.2.7).

extension ItemOrInnerList {
    /// The same with each byte sequence in its strict form; throws if one is not base64.
    fileprivate func canonical() throws -> ItemOrInnerList {
        switch self {
        case .item(let item): return .item(try item.canonical())
        case .innerList(var list):
            for index in list.bareInnerList.indices { list.bareInnerList[index] = try list.bareInnerList[index].canonical() }
            list.rfc9651Parameters = try list.rfc9651Parameters.canonical()
            return .innerList(list)
        }
    }
}

extension Item {
    fileprivate func canonical() throws -> Item {
        Item(bareItem: try rfc9651BareItem.canonical(), parameters: try rfc9651Parameters.canonical())
    }
}

extension OrderedMap where Key == String, Value == RFC9651BareItem {
    fileprivate func canonical() throws -> Self {
        var map = self
        for index in map.indices {
            let (key, value) = map[index]
            map[index] = (key, try value.canonical())
        }
        return map
    }
}

extension RFC9651BareItem {
    fileprivate func canonical() throws -> RFC9651BareItem {
        guard case .undecodedByteSequence(let text) = self else { return self }
        let digits = text.prefix { $0 != "=" }
        let padding = text[digits.endIndex...]
        let missing = (4 - digits.utf8.count % 4) % 4
        // Zeros in the place of the padding make whole groups; the bytes that they add go again, and the stray bits with them.
        guard missing < 3, padding.utf8.count <= missing, padding.allSatisfy({ $0 == "=" }),
            let bytes = Base64.decode(String(digits) + String(repeating: "A", count: missing))
        else { throw NotBase64() }
        return .undecodedByteSequence(Base64.encode(bytes.dropLast(missing)))
    }
}

/// A byte sequence is not base64.
private struct NotBase64: Error {}
