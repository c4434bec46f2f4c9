import APIClient
import Foundation
import Testing

// Acceptance list: S2.11
@Suite struct JSONBodyTests {
    @Test("A value is encoded as JSON with its media type")
    func encodable() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let content = try JSONBody(["b": 1, "a": 2], encoder: encoder).serialize()
        #expect(content.contentType == "application/json" && content.body.text == #"{"a":2,"b":1}"#)
        #expect(try JSONBody([1], contentType: "application/vnd.api+json").serialize().contentType == "application/vnd.api+json")
    }

    @Test("Parameters become an object with sorted names, and text is escaped")
    func parameters() throws {
        let body = try JSONBody(parameters: ["b": [true, nil, 1.5, -3], "a": "\"\\\n\u{1}é", "c": .bytes([0xFF])])
        #expect(String(decoding: body.bytes, as: UTF8.self) == #"{"a":"\"\\\n\u0001é","b":[true,null,1.5,-3],"c":"/w=="}"#)
    }

    @Test("A value that JSON cannot express is refused by its place, without the value")
    func refused() throws {
        struct Item: Encodable { let name = "canary", price = Double.infinity }
        // The key of a dictionary is content, too.
        let text = message { try JSONBody(["canary": [Item()]]) }
        #expect(
            text.hasPrefix("invalidBody") && text.contains("*.Index 0.price") && !text.contains("canary") && !text.contains("inf"),
            "\(text)")
        #expect(code { try JSONBody(parameters: ["a": .real(.nan)]) } == .invalidBody)
        #expect(code { try JSONBody(parameters: ["a": 1, "a": 2]) } == .invalidBody)
        let foreign = message { try JSONBody(parameters: ["b": .dictionary([QueryParameter(nameBytes: [0x61, 0xFF], 1)])]) }
        #expect(foreign.hasPrefix("invalidBody") && foreign.contains("a?"), "\(foreign)")
        let deep = (0..<10_000).reduce(QueryValue.integer(1)) { value, _ in [value] }
        #expect(code { try JSONBody(parameters: deep) } == .invalidBody)
    }
}
