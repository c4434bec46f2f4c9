import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RedactorTests {
    private func redacted(_ text: String, _ type: String?) throws -> String {
        var fields = HTTPFields()
        fields[.contentType] = type
        return String(decoding: try Redactor(.standard).body(Array(text.utf8), fields, []), as: UTF8.self)
    }

    @Test(
        "A body that looks like JSON and is not is refused, whatever its type",
        arguments: [
            "{\"password\":\"canary\"", "{\"access_token\":\"canary\"}\n{\"access_token\":\"canary\"}",
            "\u{FEFF}{\"pin\":\"canary\"}", ")]}'\n{\"pin\":\"canary\"}", "\u{FEFF} )]}',\n[{\"pin\":\"canary\"}]",
            "\u{1E}{\"pin\":\"canary\"}\n",
        ], ["application/json", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded", nil])
    func looksLikeJSON(text: String, type: String?) throws {
        let error = try #require(throws: TransportError.self) { try redacted(text, type) }
        #expect(error.code == .recordingFailed && error.message.contains(".keep") && !error.message.contains("canary"))
    }

    @Test(
        "Lines of JSON are redacted one by one", arguments: ["application/x-ndjson", "application/jsonl", "application/x-jsonlines;a=b"])
    func lines(type: String) throws {
        #expect(
            try redacted("{\"access_token\":\"x\"}\r\n\n[{\"pin\":1,\"a\":\"b\"}]\n", type)
                == "{\"access_token\":\"REDACTED\"}\r\n\n[{\"pin\":0,\"a\":\"b\"}]\n")
        #expect(throws: TransportError(.recordingFailed, "")) { try redacted("{\"a\":1}\nplain text", type) }
    }

    @Test("A stream of events with JSON is refused, and one with text is not")
    func events() throws {
        for text in ["data: {\"token\":\"x\"}\n\n", "event: a\rdata:{\"token\":\"x\"}\r\r", "\u{FEFF}data: [{\"token\":\"x\"}]\n\n"] {
            #expect(throws: TransportError(.recordingFailed, "")) { try redacted(text, "text/event-stream") }
        }
        let text = "event: a\ndata: b {\n\n"
        #expect(try redacted(text, "text/event-stream") == text)
    }

    @Test("JSON with a control character is redacted, whatever its type", arguments: ["text/plain", "application/octet-stream", nil])
    func controlCharacter(type: String?) throws {
        #expect(try !redacted("{\"access_token\":\"canary\",\"log\":\"\u{1B}[0m\"}", type).contains("canary"))
    }

    @Test(
        "Other content that begins with a bracket is recorded",
        arguments: ["{\u{0}[\u{7}", "[INFO] started", "[section]\na = 1\n", "{{name}}", "[link](x)", "{ return 1 }"])
    func otherBrackets(text: String) throws { #expect(try redacted(text, "text/plain") == text) }

    @Test("Secrets in XML and plain text are not found", arguments: ["application/xml", "text/xml", "application/soap+xml", "text/plain"])
    func unknown(type: String) throws {
        let text = "<a password=\"x\"><token>y</token></a>"
        #expect(try redacted(text, type) == text)
    }
}
