import APIClient
import Testing

// Acceptance list: S2.63
@Suite struct XMLWriterTests {
    private func text(_ element: XMLElement) throws -> String { String(decoding: try element.document(), as: UTF8.self) }

    @Test("Text and attribute values are escaped, and reading gives them back")
    func escaping() throws {
        let value = "<&>\"'\r\n\t ]]>é\u{1F431}"
        let element = XMLElement("a", attributes: [.init("x", value)], children: [.text(value), .element(XMLElement("b"))])
        #expect(
            try text(element)
                == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a x=\"&lt;&amp;&gt;&quot;'&#13;&#10;&#9; ]]&gt;é\u{1F431}\">"
                + "&lt;&amp;&gt;\"'&#13;\n\t ]]&gt;é\u{1F431}<b/></a>")
        #expect(try XMLElement(parsing: try text(element)) == element)
    }

    @Test(
        "Names that are not names of XML are refused, so that no name adds markup",
        arguments: ["", "1a", "a b", "a>", "a/><b", "-a", "a\"", "a=", "a\u{0}", "\u{D7}", " a"])
    func names(_ name: String) {
        #expect(code { try XMLElement(name).document() } == .invalidBody)
        #expect(code { try XMLElement("a", attributes: [.init(name, "")]).document() } == .invalidBody)
    }

    @Test("An attribute that occurs twice is refused")
    func duplicates() {
        #expect(code { try XMLElement("a", attributes: [.init("x", "1"), .init("x", "2")]).document() } == .invalidBody)
    }

    @Test(
        "Characters that XML cannot express are refused without the text",
        arguments: ["\u{0}", "\u{1}", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}"])
    func characters(_ character: String) {
        for element in [XMLElement("a", text: "canary" + character), XMLElement("a", attributes: [.init("x", "canary" + character)])] {
            let text = message { try element.document() }
            #expect(text.hasPrefix("invalidBody") && !text.contains("canary"), "\(text)")
        }
    }

    @Test("Elements nested deeper than 128 levels are refused")
    func depth() throws {
        func nested(_ levels: Int) -> XMLElement {
            (1..<levels).reduce(XMLElement("a")) { inner, _ in XMLElement("a", children: [.element(inner)]) }
        }
        #expect(try nested(128).document().count > 0)
        #expect(code { try nested(129).document() } == .invalidBody)
    }
}
