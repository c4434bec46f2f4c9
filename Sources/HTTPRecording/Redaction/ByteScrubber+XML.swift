extension ByteScrubber {
    private static let beginOfCharacterData = Array("<![CDATA[".utf8)
    private static let endOfCharacterData = Array("]]>".utf8)

    /// Scrubs the texts of XML, the values of attributes, and the names in tags.
    func scrubbedXML(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        /// Adds what is up to an index.
        func add(upTo end: Int, _ spelling: Spelling? = nil) {
            output += spelling.map { scrubbed(position..<end, of: bytes, $0) } ?? Array(bytes[position..<end])
            position = end
        }
        func addTag() {
            while position < bytes.count {
                let byte = bytes[position]
                guard Self.isDelimiter(byte) else {
                    let end = bytes[position...].firstIndex(where: Self.isDelimiter) ?? bytes.count
                    output += scrubbed(word: bytes[position..<end])
                    position = end
                    continue
                }
                add(upTo: position + 1)
                guard byte != UInt8(ascii: ">") else { return }
                guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") else { continue }
                add(upTo: bytes[position...].firstIndex(of: byte) ?? bytes.count, .xml)
                // The closing quotation mark.
                add(upTo: min(position + 1, bytes.count))
            }
        }
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                add(upTo: bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count, .xml)
            } else if bytes[position...].starts(with: Self.beginOfCharacterData) {
                add(upTo: position + Self.beginOfCharacterData.count)
                // No references are in such a section.
                add(upTo: bytes[position...].firstRange(of: Self.endOfCharacterData)?.lowerBound ?? bytes.count, .plain)
            } else {
                addTag()
            }
        }
        return output
    }

    /// Whether a byte ends a name in a tag.
    private static func isDelimiter(_ byte: UInt8) -> Bool { Texts.isBlank(byte) || "<>/=\"'".utf8.contains(byte) }
}
