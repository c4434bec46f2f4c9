import ApproovBase
import Testing

@Suite struct JSONValueTests {
    @Test("Values of every kind are read, and written back sorted and compact")
    func roundTrip() throws {
        let text = #" { "b" : [ 1 , -2, 1.5, true, false, null ], "a": "x\"\\\n\u0001é😀/" } "#
        let value = try JSONValue(text: text)
        #expect(
            value
                == .object([
                    "a": .string("x\"\\\n\u{1}é😀/"),
                    "b": .array([.integer(1), .integer(-2), .real(1.5), .bool(true), .bool(false), .null]),
                ]))
        let written = value.serialized()
        #expect(String(decoding: written, as: UTF8.self) == #"{"a":"x\"\\\n\u0001é😀/","b":[1,-2,1.5,true,false,null]}"#)
        #expect(try JSONValue(parsing: written, limit: 1_000) == value)
    }

    @Test(
        "Text that is not exactly one strict JSON object or array is rejected",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\":1,}", "{'a':1}", "{\"a\":1,\"a\":1}", "{\"a\":{\"b\":1,\"b\":2}}", "{} {}", "{}x", "[1] 2", "1",
            "\"text\"", "null", "{\"a\":01}", "{\"a\":+1}", "{\"a\":NaN}", "{\"a\":1e999}", "{\"a\":9223372036854775808}", "{\"a\":.5}",
            "\u{feff}{}", "{\"a\":\"\\u0000\"}", "{\"a\\u0000b\":1}", "{\"a\":\"\\ud800\"}", "{\"a\":\"tab\there\"}", "// x\n{}",
            // The same name twice: once precomposed, once decomposed.
            "{\"\u{e9}\":1,\"e\u{301}\":2}",
        ])
    func strict(text: String) {
        #expect(code { try JSONValue(text: text) } == .malformedJSON)
    }

    @Test(
        "Bytes that are not UTF-8, or that contain a NUL, are rejected",
        arguments: [
            [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d], [0x5b, 0x22, 0xc0, 0x80, 0x22, 0x5d], [0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d],
            [0x7b, 0x7d, 0x00], [0x00, 0x7b, 0x7d], [0x5b, 0x22, 0x00, 0x22, 0x5d],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        #expect(code { try JSONValue(parsing: bytes, limit: 100) } == .malformedJSON)
    }

    @Test("JSON nested 32 deep is read, 33 or 100,000 deep is rejected, and brackets in a string do not count")
    func depth() throws {
        func nested(_ levels: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: levels) + [UInt8](repeating: UInt8(ascii: "]"), count: levels)
        }
        _ = try JSONValue(parsing: nested(32), limit: 1_000)
        #expect(code { try JSONValue(parsing: nested(33), limit: 1_000) } == .malformedJSON)
        #expect(code { try JSONValue(parsing: nested(100_000), limit: 1_000_000) } == .malformedJSON)
        #expect(
            try JSONValue(text: "[\"" + String(repeating: "[{", count: 100) + "\"]")
                == .array([.string(String(repeating: "[{", count: 100))]))
    }

    @Test("Levels are counted over a long text, many shallow values are read, and a NUL is found at each place")
    func longTexts() throws {
        let filler = Array(("[" + String(repeating: "\"x\",", count: 100)).utf8)
        let ends = [UInt8](repeating: UInt8(ascii: "]"), count: 40)
        func text(levels: Int) -> [UInt8] {
            filler + [UInt8](repeating: UInt8(ascii: "["), count: levels - 1) + ends[..<levels]
        }
        _ = try JSONValue(parsing: text(levels: 32), limit: 1_000)
        #expect(code { try JSONValue(parsing: text(levels: 33), limit: 1_000) } == .malformedJSON)
        // More opening brackets than a byte can count.
        let shallow = Array(("[" + [String](repeating: "{\"a\":[]}", count: 1_000).joined(separator: ",") + "]").utf8)
        #expect(try JSONValue(parsing: shallow, limit: 10_000) == .array(.init(repeating: .object(["a": .array([])]), count: 1_000)))
        let long = Array(("{\"a\":\"" + String(repeating: "b", count: 300) + "\"}").utf8)
        for place in long.indices {
            var damaged = long
            damaged[place] = 0
            #expect(throws: JSONError.self) { try JSONValue.precheck(damaged) }
        }
    }

    @Test("JSON as long as the limit is read, and JSON one byte longer is rejected")
    func limit() throws {
        let bytes = Array("[1,2]".utf8)
        _ = try JSONValue(parsing: bytes, limit: 5)
        #expect(code { try JSONValue(parsing: bytes, limit: 4) } == .tooLarge)
    }

    @Test("JSON that is truncated at any length is rejected")
    func truncated() {
        let bytes = Array(#"{"a":[1,"b",{"c":null}]}"#.utf8)
        for length in 0..<bytes.count {
            #expect(code { try JSONValue(parsing: Array(bytes[..<length]), limit: 1_000) } == .malformedJSON)
        }
    }

    private func code(_ body: () throws -> some Any) -> JSONError.Code? {
        (#expect(throws: JSONError.self) { _ = try body() })?.code
    }
}

extension JSONValue {
    init(text: String) throws {
        self = try JSONValue(parsing: Array(text.utf8), limit: 1 << 20)
    }
}
