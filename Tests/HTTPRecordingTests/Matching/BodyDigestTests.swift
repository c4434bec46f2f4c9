import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct BodyDigestTests {
    private func recorded(_ body: String, _ type: String?, _ rules: RecordingRedaction = .standard) throws -> String? {
        var fields = HTTPFields()
        fields[.contentType] = type
        let request = try TransportRequest("https://api.test/", .post, fields, body: .bytes(Array(body.utf8)))
        var found: Set<NotedSecret> = []
        return try BodyDigest.recordedText(of: request, Redactor(rules), [], found: &found)
    }

    @Test(
        "A body whose secrets cannot be found has no digest in a recording, unless bodies are kept",
        arguments: ["text/plain", "application/xml", "application/json", "application/jsonl", "application/x-www-form-urlencoded", nil])
    func guessable(type: String?) throws {
        #expect(try recorded("493027", type) == nil)
        #expect(try recorded("", type) != nil)
        var rules = RecordingRedaction.standard
        rules.bodies = .keep
        #expect(try recorded("493027", type, rules) != nil)
    }

    @Test(
        "JSON and forms have a digest, which does not depend on their secrets",
        arguments: [
            ("application/json", "{\"a\":1,\"pin\":", "}"), ("text/plain", "[{\"pin\":", "}]"),
            ("application/jsonl", "[1]\n{\"pin\":", "}\n"), ("application/x-www-form-urlencoded", "a=1&pin=", "&b=2"),
        ])
    func redacted(type: String, begin: String, end: String) throws {
        let digest = try #require(try recorded(begin + "493027" + end, type))
        #expect(try recorded(begin + "1" + end, type) == digest)
        #expect(try recorded(begin + "1" + end + " ", type) != digest)
    }
}
