/// Reads the character references of XML, such as `&lt;` and `&#60;`.
enum References {
    /// The characters that a text with references stands for; unknown references stay as they are.
    ///
    /// The text may be that of a document inside the document, so `&amp;lt;` stands for `<`, too.
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] { decoded(text, isNested: true) }

    /// The characters that a text with references stands for, where `&amp;lt;` stands for `&lt;`.
    static func decodedOnce(_ text: ArraySlice<UInt8>) -> [UInt8] { decoded(text, isNested: false) }

    private static func decoded(_ text: ArraySlice<UInt8>, isNested: Bool) -> [UInt8] {
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
            if character == "&", isNested {
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

    /// Where a known reference ends whose `&` is before a text; nil when there is none.
    static func end(in text: ArraySlice<UInt8>) -> Int? { reference(text).map { $0.end + 1 } }

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
