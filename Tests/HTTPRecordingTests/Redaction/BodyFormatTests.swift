import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct BodyFormatTests {
    private func format(_ bytes: [UInt8], _ type: String?) -> BodyFormat {
        var fields = HTTPFields()
        fields[.contentType] = type
        return BodyFormat(of: bytes, fields)
    }

    private func format(_ text: String, _ type: String?) -> BodyFormat { format(Array(text.utf8), type) }

    @Test(
        "A body with an XML declaration is XML, whatever its type",
        arguments: ["text/html", "text/markdown", "application/x-www-form-urlencoded", "text/plain", "application/octet-stream", nil])
    func declaration(type: String?) { #expect(format("\u{FEFF}\n<?xml version=\"1.0\"?><r/>", type) == .xml) }

    @Test(
        "A body that begins with a tag other than that of HTML is XML",
        arguments: ["<htmlReport>", "<html-a/>", "<!DOCTYPE htmlReport>", "<é>", "<:a>", "<_a>", "<a>", "<!-- x --><a/>"],
        ["text/plain", "application/x-www-form-urlencoded", nil])
    func tags(text: String, type: String?) { #expect(format(text, type) == .xml) }

    @Test("HTML is text without a type", arguments: ["<html>", "<HTML lang='en'>", "<html/>", "<html\n>", "<!doctype HTML>", "<html"])
    func html(text: String) {
        #expect(format(text, nil) == .text)
        #expect(format(text, "text/html") == .unknown)
    }

    @Test("A form is a form", arguments: ["a=b&c=d", "", "a=<b>"])
    func form(text: String) { #expect(format(text, "application/x-www-form-urlencoded") == .form) }

    @Test("Text with a control character is text by its type only")
    func controlCharacters() {
        let message: [UInt8] = [0x0A, 0x03] + Array("pin".utf8) + [0x12, 0x05] + Array("key=x".utf8)
        for type in ["application/x-protobuf", "application/octet-stream", nil] { #expect(format(message, type) == .unknown) }
        for type in ["text/plain", "application/graphql", "application/javascript"] {
            #expect(format(message, type) == .text)
        }
        #expect(format("a\tb\r\nç", "application/octet-stream") == .text)
        #expect(format([0x61, 0xE9], "application/octet-stream") == .unknown)
    }

    @Test("YAML and TOML are known by their type")
    func configuration() {
        func isConfiguration(_ types: String...) -> Bool {
            var fields = HTTPFields()
            for type in types { fields.append(HTTPField(name: .contentType, value: type)) }
            return BodyFormat.isConfiguration(fields)
        }
        for type in [
            "application/yaml", "Text/YAML;charset=utf-8", "application/x-yaml", "text/x-yaml ; a=b", "application/openapi+yaml",
            "text/vnd.yaml", "application/toml",
        ] {
            #expect(isConfiguration(type) && isConfiguration("text/plain", type), "\(type)")
        }
        for type in ["text/plain", "application/json", "text/plain; a=yaml", ""] { #expect(!isConfiguration(type), "\(type)") }
        #expect(!isConfiguration())
    }

    @Test("Text that begins with a wide byte order mark is XML if a tag follows")
    func wide() {
        for bytes: [UInt8] in [
            [0xFF, 0xFE, 0x3C, 0], [0xFE, 0xFF, 0, 0x3C], [0xFF, 0xFE, 0x0A, 0, 0x3C, 0], [0xFF, 0xFE, 0, 0, 0x3C, 0, 0, 0],
            [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x3C],
        ] {
            #expect(format(bytes, "text/plain") == .xml)
            #expect(format(bytes, "image/png") == .unknown)
        }
        #expect(format([0xFF, 0xFE, 0x61, 0], "text/plain") == .text)
        #expect(format([0xFF, 0xFE, 0x61, 0], nil) == .unknown)
    }
}
