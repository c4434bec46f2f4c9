import Testing

@testable import HTTPRecording

@Suite struct JSONRedactorTests {
    private func redacted(_ text: String) throws -> String {
        String(decoding: try JSONRedactor.redacted(Array(text.utf8), SecretNames()), as: UTF8.self)
    }

    @Test("Strings and numbers of secret members are replaced, at any depth below them, and nothing else")
    func secrets() throws {
        #expect(
            try redacted(#" { "a" : 1.50 , "access_token" : "x\"y", "pin":-12e3, "b":[{"Password":"p","ok":null}]} "#)
                == #" { "a" : 1.50 , "access_token" : "REDACTED", "pin":0, "b":[{"Password":"REDACTED","ok":null}]} "#)
        #expect(
            try redacted(#"{"secrets":{"a":["x",1,true,{"b":"y"}]},"c":"d"}"#)
                == #"{"secrets":{"a":["REDACTED",0,true,{"b":"REDACTED"}]},"c":"d"}"#)
        #expect(try redacted(#""token""#) == #""token""#)
        #expect(try redacted(#"{"token":true,"session":null}"#) == #"{"token":true,"session":null}"#)
    }

    @Test("Escapes, letter case and separators do not hide a name")
    func hiddenNames() throws {
        #expect(
            try redacted(#"{"passw\u006frd":"x","API-Key":"y","refreshToken":"z"}"#)
                == #"{"passw\u006frd":"REDACTED","API-Key":"REDACTED","refreshToken":"REDACTED"}"#)
    }

    @Test(
        "Text that is not JSON is refused",
        arguments: [
            "", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "\"a", "\"a\\", "{a:1}", "[1,]", "{\"a\":1,}", "[1]x", "<html>", "{\"a\" 1}",
            "\u{FEFF}{}", "{\"\\ud800\":1}", "]",
        ])
    func malformed(text: String) {
        #expect(throws: JSONRedactor.Malformed.self) { try redacted(text) }
    }

    @Test("Nesting of a hundred thousand levels is no problem")
    func deep() throws {
        let depth = 100_000
        let text = String(repeating: "[", count: depth) + "{\"token\":\"x\"}" + String(repeating: "]", count: depth)
        #expect(try redacted(text) == text.replacing("\"x\"", with: "\"REDACTED\""))
    }
}
