/// The values of elements and attributes in XML, and what a recording has in their places.
struct XMLValues {
    private let names: SecretNames

    init(_ names: SecretNames) { self.names = names }

    /// The text in the place of a value; nil to keep it.
    ///
    /// As in JSON, white space, `true` and `false` stay, and a number becomes 0. A value that is not secret by its name may contain another
    /// document, a query or a setting. It is replaced as a whole if a secret's name is in it.
    ///
    /// - Parameters:
    ///   - value: The value with its references.
    ///   - secrecy: Whether it is secret by its name or its element.
    ///   - secrets: Gets the value if it is replaced, unless its secrecy is inherited.
    /// - Returns: The new value.
    func replacement(for value: ArraySlice<UInt8>, _ secrecy: Secrecy, _ secrets: inout Set<String>) -> [UInt8]? {
        let text = value.drop(while: Self.isBlank)
        if secrecy == .none {
            guard names.isSetting(Self.decoded(value), &secrets) else { return nil }
        } else {
            guard !text.isEmpty, !["true", "false"].contains(where: { text.elementsEqual($0.utf8) }) else { return nil }
        }
        // The other body may have the value without the white space, and without references.
        if secrecy != .inherited {
            let trimmed = Self.trimmed(value)
            secrets.note(trimmed)
            secrets.note(Self.decoded(trimmed))
        }
        guard secrecy != .none else { return Array(RedactedText.plain.utf8) }
        let isNumber = text.allSatisfy { (0x30...0x39).contains($0) || "-.".utf8.contains($0) || Self.isBlank($0) }
        return isNumber ? [UInt8(ascii: "0")] : Array(RedactedText.plain.utf8)
    }

    /// Whether the name of a secret is in a value with references.
    func mentionsSecret(_ value: ArraySlice<UInt8>) -> Bool { names.isMentioned(in: Self.decoded(value)) }

    /// Whether a text with references is the name of a secret, or has it as a word.
    func isSecretName(_ text: ArraySlice<UInt8>) -> Bool { names.isName(Self.decoded(text)) }

    /// The text without white space at its ends.
    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let text = text.drop(while: isBlank)
        return text[..<((text.lastIndex { !isBlank($0) } ?? text.startIndex - 1) + 1)]
    }

    static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// The name without its namespace's prefix.
    static func localName(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: name[((name.lastIndex(of: UInt8(ascii: ":")) ?? name.startIndex - 1) + 1)...], as: UTF8.self)
    }

    /// Whether elements, attributes and members of this name name the value beside them.
    static func isLabel(_ name: ArraySlice<UInt8>) -> Bool { ["name", "key"].contains(localName(name).lowercased()) }

    /// Whether an attribute declares a namespace, without which the document could not be read.
    static func declaresNamespace(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8)
    }

    /// The characters that a text with references stands for; unknown references stay as they are.
    ///
    /// The text may be that of a document inside the document, so `&amp;lt;` stands for `<`, too.
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var result: [UInt8] = []
        var text = text
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "&"), let (character, end) = reference(text[(index + 1)...]) else {
                result.append(text[index])
                index += 1
                continue
            }
            if character == "&" {
                // It may begin a reference again.
                text[end] = UInt8(ascii: "&")
                index = end
            } else {
                result += String(character).utf8
                index = end + 1
            }
        }
        return result
    }

    /// The character of the reference whose `&` is before a text, and where its semicolon is.
    private static func reference(_ text: ArraySlice<UInt8>) -> (character: Character, end: Int)? {
        var digits = text
        if digits.first == UInt8(ascii: "#") {
            digits = digits.dropFirst()
            if digits.first == UInt8(ascii: "x") { digits = digits.dropFirst() }
            digits = digits.drop { $0 == UInt8(ascii: "0") }
        }
        // The longest reference without zeros is that of the last character, `1114111`.
        guard let end = digits.prefix(8).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let prefix = text.starts(with: "#x".utf8) ? "#x" : text.first == UInt8(ascii: "#") ? "#" : ""
        return character(prefix + String(decoding: digits[..<end], as: UTF8.self)).map { ($0, end) }
    }

    private static func character(_ reference: String) -> Character? {
        switch reference {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number: UInt32?
            if reference.hasPrefix("#x") {
                number = UInt32(reference.dropFirst(2), radix: 16)
            } else if reference.hasPrefix("#") {
                number = UInt32(reference.dropFirst())
            } else {
                number = nil
            }
            return number.flatMap(Unicode.Scalar.init).map { Character($0) }
        }
    }
}
