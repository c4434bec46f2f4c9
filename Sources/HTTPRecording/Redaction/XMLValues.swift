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
    ///   - isSecret: Whether its name is secret.
    ///   - isCharacterData: Whether it is the content of a CDATA section, in which `&` begins no reference.
    /// - Returns: The new value.
    func replacement(for value: ArraySlice<UInt8>, isSecret: Bool, isCharacterData: Bool = false) -> [UInt8]? {
        guard isSecret else {
            let text = isCharacterData ? Array(value) : Self.decoded(value)
            guard text.contains(where: { "<{=".utf8.contains($0) }) else { return nil }
            return Self.words(of: text).contains(where: names.contains) ? Array(RedactedText.plain.utf8) : nil
        }
        let text = value.drop(while: Self.isBlank)
        guard !text.isEmpty, !["true", "false"].contains(where: { text.elementsEqual($0.utf8) }) else { return nil }
        let isNumber = text.allSatisfy { (0x30...0x39).contains($0) || "-.".utf8.contains($0) || Self.isBlank($0) }
        return isNumber ? [UInt8(ascii: "0")] : Array(RedactedText.plain.utf8)
    }

    /// Whether a text is the name of a secret.
    func isSecretName(_ text: [UInt8]) -> Bool { Self.words(of: text).contains(where: names.contains) }

    private static func words(of text: [UInt8]) -> [Substring] {
        String(decoding: text, as: UTF8.self).split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" }
    }

    static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// The name without its namespace's prefix.
    static func localName(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: name[((name.lastIndex(of: UInt8(ascii: ":")) ?? name.startIndex - 1) + 1)...], as: UTF8.self)
    }

    /// Whether elements and attributes of this name name the value beside them.
    static func isLabel(_ name: ArraySlice<UInt8>) -> Bool { ["name", "key"].contains(localName(name).lowercased()) }

    /// Whether an attribute declares a namespace, without which the document could not be read.
    static func declaresNamespace(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8)
    }

    /// The characters that a text with references stands for; unknown references stay as they are.
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            // The longest reference is that of the last character, with some zeros.
            guard byte == UInt8(ascii: "&"), let end = rest.prefix(16).firstIndex(of: UInt8(ascii: ";")),
                let character = character(String(decoding: rest[..<end], as: UTF8.self))
            else {
                result.append(byte)
                continue
            }
            result += String(character).utf8
            rest = rest[(end + 1)...]
        }
        return result
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
