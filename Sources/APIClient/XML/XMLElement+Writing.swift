import ApproovBase

extension XMLElement {
    /// Writes the document whose root this element is, in UTF-8 with its declaration.
    ///
    /// Nothing is added to the content: reading the document gives an equal value, except that adjacent texts are joined and empty ones are
    /// left out. Names may have the characters of XML 1.0, fifth edition. ``init(parsing:)-(Data)`` reads only those of the fourth.
    ///
    /// - Returns: The document.
    /// - Throws: ``APIError`` with code `invalidBody`, which names the element, when a name is not one of XML, an attribute occurs twice,
    ///   a text or a value has a character that XML cannot express, or elements are nested deeper than 128 levels.
    public func document() throws -> [UInt8] {
        var output = Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)
        try write(to: &output, depth: 1)
        return output
    }

    private func write(to output: inout [UInt8], depth: Int) throws {
        guard depth <= Self.maximumDepth else {
            throw APIError(.invalidBody, "the XML document is nested deeper than \(Self.maximumDepth) levels")
        }
        guard XMLCharacters.isName(name) else {
            throw APIError(.invalidBody, "\"\(LoggableText.quoted(name))\" is not a valid XML name")
        }
        output.append(UInt8(ascii: "<"))
        output += name.utf8
        var names: Set<String> = []
        for attribute in attributes {
            guard XMLCharacters.isName(attribute.name), names.insert(attribute.name).inserted else {
                throw APIError(
                    .invalidBody,
                    "the attribute \"\(LoggableText.quoted(attribute.name))\" of \(LoggableText.name(name)) occurs twice, or is not a valid XML name"
                )
            }
            output.append(UInt8(ascii: " "))
            output += attribute.name.utf8
            output += "=\"".utf8
            try XMLCharacters.escape(attribute.value, isAttribute: true, in: name, to: &output)
            output.append(UInt8(ascii: "\""))
        }
        guard !children.isEmpty else {
            output += "/>".utf8
            return
        }
        output.append(UInt8(ascii: ">"))
        for child in children {
            switch child {
            case .element(let element): try element.write(to: &output, depth: depth + 1)
            case .text(let text): try XMLCharacters.escape(text, isAttribute: false, in: name, to: &output)
            }
        }
        output += "</".utf8
        output += name.utf8
        output.append(UInt8(ascii: ">"))
    }
}
