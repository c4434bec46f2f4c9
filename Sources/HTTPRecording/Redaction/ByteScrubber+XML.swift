extension ByteScrubber {
    private static let beginOfCharacterData = Array("<![CDATA[".utf8)
    private static let endOfCharacterData = Array("]]>".utf8)

    /// Scrubs the texts of XML and the values of attributes, and not the names in tags.
    func scrubbedXML(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        /// Adds the bytes up to an index, scrubbed if they have a spelling.
        func add(upTo end: Int, _ spelling: Spelling? = nil) {
            if let spelling { output += scrubbed(position..<end, of: bytes, spelling) } else { output += bytes[position..<end] }
            position = end
        }
        func add(throughNext byte: UInt8) { add(upTo: bytes[position...].firstIndex(of: byte).map { $0 + 1 } ?? bytes.count) }
        func addTag() {
            while let end = bytes[position...].firstIndex(where: { "\"'>".utf8.contains($0) }) {
                let name = bytes[position..<end].split { Texts.isBlank($0) || $0 == UInt8(ascii: "=") }.last ?? []
                let byte = bytes[end]
                add(upTo: end + 1)
                guard byte != UInt8(ascii: ">") else { return }
                let value = bytes[position...].firstIndex(of: byte) ?? bytes.count
                add(upTo: value, XMLValues.declaresNamespace(name) ? nil : .xml)
                add(throughNext: byte)
            }
            add(upTo: bytes.count)
        }
        while position < bytes.count {
            let rest = bytes[position...]
            if rest.first != UInt8(ascii: "<") {
                add(upTo: rest.firstIndex(of: UInt8(ascii: "<")) ?? bytes.count, .xml)
            } else if rest.starts(with: Self.beginOfCharacterData) {
                add(upTo: position + Self.beginOfCharacterData.count)
                add(upTo: bytes[position...].firstRange(of: Self.endOfCharacterData)?.lowerBound ?? bytes.count, .plain)
            } else if rest.starts(with: "<?".utf8) || rest.starts(with: "<!".utf8) {
                // The declarations; instructions and comments have lost their text.
                add(throughNext: UInt8(ascii: ">"))
            } else {
                addTag()
            }
        }
        return output
    }
}
