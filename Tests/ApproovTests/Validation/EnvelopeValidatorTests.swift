import Approov
import Foundation
import Testing

// Acceptance list: S3.9
@Suite struct EnvelopeValidatorTests {
    private func refusal(_ body: String, type: String? = "application/json") throws -> ApproovError? {
        ApproovTests.refusal(by: EnvelopeValidator(), of: try head(200, type.map { ["Content-Type": $0] } ?? [:]), body: Data(body.utf8))
    }

    @Test(
        "A status of success is accepted as a Bool, a number and a string",
        arguments: ["true", "1", "200", "204", "299", "\"true\"", "\"TRUE\"", "\"ok\"", "\"Success\"", "\"200\"", "\" 1 \"", "null"])
    func success(_ status: String) throws {
        #expect(try refusal(#"{"status": \#(status), "code": 5, "message": "m"}"#) == nil)
    }

    @Test(
        "Any other status is refused as a Bool, a number and a string",
        arguments: [
            "false", "0", "2", "-1", "199", "300", "404", "500", "\"false\"", "\"False\"", "\"0\"", "\"error\"", "\"\"", "\"500\"", "1.0",
            "[]", "{}", "[true]", "\"ok ok\"", "9223372036854775807",
        ])
    func failure(_ status: String) throws {
        let refusal = try #require(try refusal(#"{"status": \#(status), "code": 500, "message": "sold out"}"#))
        #expect(refusal.code == .responseRefused)
        #expect(refusal.serverCode == "500")
        #expect(refusal.serverMessage == "sold out")
    }

    @Test("The code may be a string or absent, and the message absent or of another type")
    func parts() throws {
        #expect(try refusal(#"{"status": false, "code": "E_7"}"#)?.serverCode == "E_7")
        let bare = try #require(try refusal(#"{"status": false, "message": {"text": "x"}}"#))
        #expect(bare.serverCode == nil && bare.serverMessage == nil)
    }

    @Test("The members' names can be chosen")
    func names() throws {
        let validator = EnvelopeValidator(statusField: "ok", codeField: "errno", messageField: "error")
        let json = try head(200, ["Content-Type": "application/problem+json"])
        let refused = ApproovTests.refusal(by: validator, of: json, body: Data(#"{"ok": 0, "errno": 3, "error": "no"}"#.utf8))
        #expect(refused?.serverCode == "3" && refused?.serverMessage == "no")
        #expect(ApproovTests.refusal(by: validator, of: json, body: Data(#"{"status": false}"#.utf8)) == nil)
    }

    @Test(
        "JSON without a status, no content and content of another type are accepted",
        arguments: [
            ("{}", "application/json"), ("[1, 2]", "application/json"), ("", "application/json"), ("<status>false</status>", "text/html"),
            (#"{"status": false}"#, "text/plain"), (#"{"item": {"status": false}}"#, "application/json"),
        ])
    func absent(_ body: String, _ type: String) throws {
        #expect(try refusal(body, type: type) == nil)
    }

    @Test("JSON without a Content-Type is read")
    func untyped() throws {
        #expect(try refusal(#"{"status": false}"#, type: nil)?.code == .responseRefused)
    }

    @Test(
        "JSON that cannot be read, or can be read in two ways, is refused",
        arguments: [
            "{", "{\"status\": true", "x", "{\"status\": true, \"status\": false}", "{\"status\": true}{}", "{\"status\": \"\\u0000\"}",
            "{\"status\": 99999999999999999999}",
        ])
    func malformed(_ body: String) throws {
        let refusal = try #require(try refusal(body))
        #expect(refusal.code == .responseRefused && refusal.cause != nil)
        #expect(refusal.serverCode == nil)
    }

    @Test("JSON that is nested 10,000 levels deep is refused")
    func deep() throws {
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        #expect(try refusal("{\"status\": true, \"x\": \(deep)}")?.code == .responseRefused)
        #expect(try refusal(String(repeating: "{\"a\":", count: 10_000))?.code == .responseRefused)
    }

    @Test("What the server says is cut and escaped, and is not part of the error's description")
    func hostile() throws {
        let message = "line\\nforged: \\u001b[31m" + String(repeating: "ä", count: 100_000)
        let refusal = try #require(
            try refusal(
                #"{"status": false, "code": "\#(String(repeating: "c", count: 5_000))\r", "message": "\#(message)"}"#.replacing(
                    "\r", with: "\\r")))
        let shown = try #require(refusal.serverMessage)
        #expect(shown.hasPrefix("line\\u{a}forged: \\u{1b}[31m\\u{e4}"))
        #expect(shown.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        #expect(shown.hasSuffix("...") && shown.utf8.count < 256 * 6)
        #expect(try #require(refusal.serverCode).utf8.count == 83)
        for text in [refusal.description, "\(refusal)", String(reflecting: refusal), refusal.localizedDescription] {
            #expect(!text.contains("forged") && !text.contains("ccc"))
        }
    }
}
