import APIClient
import Foundation
import Testing

@Suite struct XMLReaderTests {
    @Test("A document's elements, attributes and mixed content are read in their order")
    func tree() throws {
        let element = try XMLElement(
            parsing: "<?xml version='1.0'?><!-- c --><a x='1' y=\"&lt;&#233;\">t<!-- c -->u<b/><![CDATA[<v>]]><?p i?>&amp;</a>\n")
        #expect(
            element
                == XMLElement(
                    "a", attributes: [.init("x", "1"), .init("y", "<é")],
                    children: [.text("tu"), .element(XMLElement("b")), .text("<v>&")]))
    }

    @Test("UTF-8 and UTF-16 are read, with and without a byte order mark or a declaration")
    func encodings() throws {
        let expected = XMLElement("é", text: "\u{1F431}")
        let text = "<é>\u{1F431}</é>"
        #expect(try XMLElement(parsing: text) == expected)
        #expect(try XMLElement(parsing: Data([0xEF, 0xBB, 0xBF]) + Data(text.utf8)) == expected)
        #expect(try XMLElement(parsing: "<?xml version='1.0' encoding='utf-8'?>" + text) == expected)
        for encoding in [String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian] {
            var data = try #require(("<?xml version='1.0' encoding='UTF-16'?>" + text).data(using: encoding))
            if encoding != .utf16 { data = Data(encoding == .utf16BigEndian ? [0xFE, 0xFF] : [0xFF, 0xFE]) + data }
            #expect(try XMLElement(parsing: data) == expected)
        }
    }

    private static let billionLaughs =
        "<!DOCTYPE lolz [<!ENTITY l0 \"canary\">"
        + (1...9).map { "<!ENTITY l\($0) \"" + String(repeating: "&l\($0 - 1);", count: 10) + "\">" }.joined() + "]><lolz>&l9;</lolz>"

    @Test(
        "Document types, other encodings and malformed documents are refused without their content",
        arguments: [
            "<!DOCTYPE a><a>canary</a>", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a>canary</a>",
            "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>", billionLaughs, "<a>&canary;</a>",
            "<?xml version='1.0' encoding='UTF-7'?><a>canary</a>", "<?xml version='1.0' encoding='iso-8859-1'?><a>canary</a>",
            "<?xml version='1.0' encoding='canary'?><a/>", "", " ", "canary", "<a>canary", "<a>canary</b>", "<a canary=1/>",
            "<a x='1' x='canary'/>", "<a/><canary/>", "<a>canary\u{0}</a>", "<a>canary\u{1}</a>", "<a>&#0;canary</a>", "<a>canary]]></a>",
            "<?xml version='9.9'?><a>", "<a>\u{FFFE}canary</a>",
        ])
    func refused(_ text: String) {
        let message = message { try XMLElement(parsing: text) }
        #expect(message.hasPrefix("malformedXML") && !message.contains("canary") && !message.contains("passwd"), "\(message)")
    }

    @Test("Bytes that are not UTF-8 are refused, also overlong ones and halves of a pair in UTF-16")
    func badBytes() {
        for bytes in [[0x80], [0xC0, 0xBC], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF]] as [[UInt8]] {
            #expect(code { try XMLElement(parsing: Data("<a>".utf8) + Data(bytes) + Data("</a>".utf8)) } == .malformedXML)
        }
        #expect(code { try XMLElement(parsing: Data([0xFF, 0xFE, 0x3C, 0, 0x61, 0, 0x3E, 0, 0x3D, 0xD8, 0x3C, 0])) } == .malformedXML)
    }

    @Test("Elements may be nested 128 levels deep; 129 and 10,000 are refused, whether they end or not")
    func depth() throws {
        func nested(_ levels: Int, ends: Bool = true) -> String {
            String(repeating: "<a>", count: levels) + (ends ? String(repeating: "</a>", count: levels) : "")
        }
        #expect(try XMLElement(parsing: nested(128)).name == "a")
        #expect(code { try XMLElement(parsing: nested(129)) } == .tooLarge)
        #expect(code { try XMLElement(parsing: nested(10_000)) } == .tooLarge)
        #expect(code { try XMLElement(parsing: nested(10_000, ends: false)) } == .tooLarge)
    }

    @Test("A document has at most 16 MiB and 1,048,576 elements, attributes and texts")
    func limits() throws {
        let most = 1 << 20
        #expect(try XMLElement(parsing: "<a>" + String(repeating: "<b/>", count: most - 1) + "</a>").children.count == most - 1)
        #expect(code { try XMLElement(parsing: "<a>" + String(repeating: "<b/>", count: most) + "</a>") } == .tooLarge)
        let text = String(repeating: "x", count: 16 << 20)
        #expect(code { try XMLElement(parsing: "<a>\(text)</a>") } == .tooLarge)
        #expect(try XMLElement(parsing: "<a>\(text.dropLast(7))</a>").text.utf8.count == (16 << 20) - 7)
    }
}
