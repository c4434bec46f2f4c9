import ApproovBase
import Attestation
import Testing

@Suite struct JSONValueMembersTests {
    @Test(
        "A value with a fraction or exponent, or of another type, is not an integer",
        arguments: ["7.0", "7e0", "\"7\"", "true", "null", "[7]", "{}"])
    func integers(text: String) throws {
        let value = try JSONValue(text: "{\"n\":\(text)}")
        let error = try #require(throws: AttestationError.self) { try value.integer("n") }
        #expect(error.code == .malformedMember)
        #expect(error.member == "n")
    }

    @Test("An integer outside its range is rejected")
    func range() throws {
        let value = try JSONValue(text: #"{"n":-1,"m":9223372036854775807}"#)
        #expect(code { try value.integer("n", in: 0...10) } == .malformedMember)
        #expect(try value.integer("m") == .max)
        #expect(code { try value.integer("m", in: 0...1 << 53) } == .malformedMember)
    }

    @Test("An error contains the path of the member and not its value")
    func paths() throws {
        let value = try JSONValue(text: #"{"list":["ok",{"secret":"hunter2"}],"text":5}"#)
        let error = try #require(throws: AttestationError.self) { try value.strings("list") }
        #expect(error.member == "list[1]")
        #expect(!"\(error)".contains("hunter2"))
        #expect(code { try value.string("text") } == .malformedMember)
        #expect(code { try value.string("missing") } == .malformedMember)
        #expect(code { try JSONValue.array([]).member("x") } == .malformedMember)
        #expect(try value.optionalString("missing") == nil)
        #expect(code { try value.optionalString("text") } == .malformedMember)
        #expect(code { try value.bool("text", default: true) } == .malformedMember)
        #expect(try value.bool("missing", default: true))
    }

    @Test("An error shows the name of a missing member printable and shortened")
    func names() throws {
        let value = try JSONValue(text: "{}")
        let error = try #require(throws: AttestationError.self) { try value.member("a\u{1b}[31m\n" + String(repeating: "x", count: 500)) }
        #expect(!"\(error)".contains("\u{1b}"))
        #expect(!"\(error)".contains("\n"))
        #expect("\(error)".utf8.count < 200)
    }
}
