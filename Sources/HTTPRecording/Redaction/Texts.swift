/// What the redactors of JSON, XML and other text share.
enum Texts {
    /// Whether a byte is white space of JSON and XML.
    static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// The text without white space at its ends.
    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let text = text.drop(while: isBlank)
        return text[..<((text.lastIndex { !isBlank($0) } ?? text.startIndex - 1) + 1)]
    }

    /// The name without its namespace's prefix.
    static func localName(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: name[((name.lastIndex(of: UInt8(ascii: ":")) ?? name.startIndex - 1) + 1)...], as: UTF8.self)
    }

    /// Whether a text without the name of a secret may be a key rather than a word: it is long enough and has a letter and a digit.
    static func looksLikeKey(_ text: some Collection<UInt8>) -> Bool {
        text.count >= ByteScrubber.minimumLength && text.contains { (0x30...0x39).contains($0) }
            && text.contains { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 >= 0x80 }
    }

    /// Whether a text has a character that gives JSON, XML or code its structure.
    static func hasStructure(_ text: some Sequence<UInt8>) -> Bool { text.contains { "\"'{}[]<>\\".utf8.contains($0) } }
}
