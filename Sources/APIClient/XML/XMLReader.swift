import CExpat

/// Reads a document with expat, and builds its tree.
struct XMLReader {
    /// Elements that have begun and not ended, the outermost first.
    private var open: [XMLElement] = []
    /// The text since the last tag, as UTF-8.
    private var text: [UInt8] = []
    private var root: XMLElement?
    private var nodes = 0
    private var failure: APIError?
    private let parser: XML_Parser

    private init(_ parser: XML_Parser) { self.parser = parser }

    /// Reads a document.
    ///
    /// - Parameter bytes: The whole document.
    /// - Returns: The root element.
    /// - Throws: ``APIError`` with code `malformedXML` or `tooLarge`.
    static func read(_ bytes: [UInt8]) throws -> XMLElement {
        guard bytes.count <= XMLElement.maximumBytes else {
            throw APIError(.tooLarge, "the XML document has more than \(XMLElement.maximumBytes) bytes")
        }
        // expat takes the encoding from the byte order mark or the declaration, and UTF-8 without either.
        guard let parser = XML_ParserCreate(nil) else { throw APIError(.malformedXML, "there is no memory for a parser of XML") }
        defer { XML_ParserFree(parser) }
        var reader = XMLReader(parser)
        let status = withUnsafeMutablePointer(to: &reader) { pointer in
            XML_SetUserData(parser, pointer)
            setHandlers(of: parser)
            return bytes.withUnsafeBytes { raw in
                XML_Parse(parser, raw.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(raw.count), 1)
            }
        }
        if let failure = reader.failure { throw failure }
        guard status == XML_STATUS_OK, let root = reader.root else {
            let reason = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "unknown reason"
            throw reader.malformed(reason)
        }
        return root
    }

    /// Each handler gets the reader that `read` lends to the parser for the time of the call.
    private static func setHandlers(of parser: XML_Parser) {
        XML_SetXmlDeclHandler(parser) { data, _, encoding, _ in
            data?.assumingMemoryBound(to: XMLReader.self).pointee.declare(encoding.map { String(cString: $0) })
        }
        XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in
            data?.assumingMemoryBound(to: XMLReader.self).pointee.refuseDoctype()
        }
        XML_SetElementHandler(
            parser,
            { data, name, attributes in
                guard let name else { return }
                data?.assumingMemoryBound(to: XMLReader.self).pointee.begin(name, attributes)
            }, { data, _ in data?.assumingMemoryBound(to: XMLReader.self).pointee.end() })
        XML_SetCharacterDataHandler(parser) { data, text, count in
            guard let text else { return }
            data?.assumingMemoryBound(to: XMLReader.self).pointee.text
                .append(contentsOf: UnsafeRawBufferPointer(start: text, count: Int(count)))
        }
    }

    private mutating func declare(_ encoding: String?) {
        guard let encoding, !["utf-8", "utf-16", "utf-16le", "utf-16be"].contains(encoding.lowercased()) else { return }
        fail(malformed("only the encodings UTF-8 and UTF-16 are accepted"))
    }

    private mutating func refuseDoctype() { fail(malformed("a document type declaration is not accepted")) }

    private mutating func begin(_ name: UnsafePointer<XML_Char>, _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?) {
        guard failure == nil else { return }
        endText()
        guard open.count < XMLElement.maximumDepth else {
            return fail(APIError(.tooLarge, "the XML document is nested deeper than \(XMLElement.maximumDepth) levels"))
        }
        var element = XMLElement(String(cString: name))
        var index = 0
        while let attribute = attributes?[index], let value = attributes?[index + 1] {
            element.attributes.append(.init(String(cString: attribute), String(cString: value)))
            index += 2
        }
        count(1 + index / 2)
        open.append(element)
    }

    private mutating func end() {
        guard failure == nil else { return }
        endText()
        guard let element = open.popLast() else { return }
        if open.isEmpty { root = element } else { open[open.count - 1].children.append(.element(element)) }
    }

    private mutating func endText() {
        defer { text.removeAll(keepingCapacity: true) }
        // Outside the root there is only white space.
        guard !text.isEmpty, !open.isEmpty else { return }
        count(1)
        open[open.count - 1].children.append(.text(String(decoding: text, as: UTF8.self)))
    }

    private mutating func count(_ added: Int) {
        nodes += added
        guard nodes > XMLElement.maximumNodes else { return }
        fail(APIError(.tooLarge, "the XML document has more than \(XMLElement.maximumNodes) elements, attributes and texts"))
    }

    private mutating func fail(_ error: APIError) {
        guard failure == nil else { return }
        failure = error
        XML_StopParser(parser, XML_Bool(XML_FALSE))
    }

    private func malformed(_ reason: String) -> APIError {
        APIError(
            .malformedXML,
            "the XML document cannot be read at line \(XML_GetCurrentLineNumber(parser)), column \(XML_GetCurrentColumnNumber(parser)): \(reason)"
        )
    }
}
