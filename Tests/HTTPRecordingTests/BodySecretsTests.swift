import ApproovTesting
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes
import Testing

/// What a body has under a secret name is redacted wherever the exchange's response repeats it.
@Suite struct BodySecretsTests {
    private static let json = "application/json"
    private static let form = "application/x-www-form-urlencoded"
    private let site: Site

    init() throws { site = try Site() }

    /// Records an exchange and returns the response's body of the recording.
    private func recorded(_ body: String, _ type: String, response: String, _ responseType: String) async throws -> String {
        let request = try TransportRequest("https://api.test/", .post, [.contentType: type], body: .bytes(Array(body.utf8)))
        try await site.record([request]) { TransportResponse(response, to: $0, [.contentType: responseType]) }
        return try await ReplayTransport(from: site.recording, comparingBodiesBy: .standard).send(request).text
    }

    @Test(
        "A secret of the request's body is not in the response's body",
        arguments: [
            (json, #"{"password":"hunter2-hunter2"}"#), (json, #"{"pass\u0077ord":"hunter2\u002dhunter2"}"#),
            (json, #"{"name":"pin","value":"hunter2-hunter2"}"#), (json, #"{"a":"https://x/?token=hunter2-hunter2&b=c"}"#),
            ("application/jsonl", "{\"a\":1}\n{\"pin\":\"hunter2-hunter2\"}\n"), (form, "a=b&password=hunter2-hunter2"),
            (form, "password=hunter2%2Dhunter2"), ("text/xml", "<a><token> hunter2-hunter2\n</token></a>"),
            ("text/xml", "<a token='hunter2&#45;hunter2'/>"), ("text/plain", "a: b\npassword: hunter2-hunter2\nc: d"),
            ("text/plain", "see {\"password\":\"hunter2-hunter2\"}"),
            (form, "url=https%3A%2F%2Fh%2F%3Ftoken%3Dhunter2-hunter2"), (form, "a=%7B%22token%22%3A%22hunter2-hunter2%22%7D"),
            ("text/xml", "<r><param name='password'>hunter2-hunter2</param></r>"),
            ("text/xml", "<m><name>password</name><value><string>hunter2-hunter2</string></value></m>"),
            (json, #"{"password":"hunter2-hunter2","a""#), ("text/xml", "<a><token>hunter2-hunter2</token>"),
            (json, #"{"xml":"<param name=\"password\" value=\"hunter2-hunter2\"/>","pin":"hunter2-hunter2"}"#),
        ])
    func ofRequest(type: String, body: String) async throws {
        let response = try await recorded(body, type, response: #"{"echo":"hunter2-hunter2","b":"kept"}"#, Self.json)
        #expect(response == #"{"echo":"REDACTED","b":"kept"}"#)
    }

    @Test(
        "A secret of the response's body is not elsewhere in it",
        arguments: [
            (json, #"{"self":"https://x/?t=opaque-abc123","access_token":"opaque-abc123"}"#),
            (json, #"{"id":47114711,"pin":47114711,"text":"47114711"}"#), (form, "t=opaque-abc123&access_token=opaque-abc123"),
            ("text/xml", "<a><b>opaque-abc123</b><token>opaque-abc123</token></a>"),
            ("text/plain", "opaque-abc123\ntoken=opaque-abc123"),
            ("text/xml", "<r><param name='password'>opaque-abc123</param><echo>opaque-abc123</echo></r>"),
            (form, "a=opaque-abc123&url=https%3A%2F%2Fh%2F%3Ftoken%3Dopaque-abc123"),
            (form, "payload=%7B%22token%22%3A%22opaque-abc123%22%7D&b=opaque-abc123"),
        ])
    func ofResponse(type: String, body: String) async throws {
        let response = try await recorded("", Self.json, response: body, type)
        #expect(!response.contains("opaque-abc123") && !response.contains("47114711"))
    }

    @Test("Secrets that overlap are removed at once, those of the head and those of the bodies")
    func overlapping() async throws {
        let body = #"{"session":"u42.abcdefgh1.3f9c77d0aa","message":"resumed u42.abcdefgh1.3f9c77d0aa"}"#
        let request = try TransportRequest("https://api.test/", .get, [.cookie: "sid=abcdefgh1"])
        try await site.record([request]) { TransportResponse(body, to: $0, [.contentType: Self.json]) }
        #expect(
            try await ReplayTransport(from: site.recording).send(request).text == #"{"session":"REDACTED","message":"resumed REDACTED"}"#)
    }

    @Test(
        "A password in a URL is not elsewhere in the exchange",
        arguments: [
            (json, #"{"a":"postgres://app:hunter2-hunter2@db/x?token=opaque-abc123"}"#),
            (form, "a=postgres://app:hunter2-hunter2@db/x?token=opaque-abc123"),
            ("text/xml", "<a>postgres://app:hunter2-hunter2@db/x?token=opaque-abc123</a>"),
            ("text/plain", "postgres://app:hunter2-hunter2@db/x?token=opaque-abc123"),
        ])
    func urlPassword(type: String, body: String) async throws {
        let response = try await recorded(body, type, response: #"{"a":"no hunter2-hunter2","b":"no opaque-abc123"}"#, Self.json)
        #expect(response == #"{"a":"no REDACTED","b":"no REDACTED"}"#)
    }

    @Test("A form's value with spaces is found")
    func spaces() async throws {
        let response = try await recorded("password=my+own+dog", Self.form, response: "hello my own dog", "text/plain")
        #expect(response == "hello REDACTED")
    }

    @Test("A value that is the word for a secret leaves the names of members as they are")
    func words() async throws {
        let text = #"{"password":null,"grants":["password"],"next":"pass-word"}"#
        #expect(try await recorded("user=bob&password=password", Self.form, response: text, Self.json) == text)
    }

    @Test("JSON stays JSON when it repeats a number, and short values stay")
    func numbers() async throws {
        let response = try await recorded(
            #"{"pin":1234567890,"otp":"4711"}"#, Self.json, response: #"{"id":1234567890,"n":4711}"#, Self.json)
        #expect(response == #"{"id":0,"n":4711}"#)
    }

    @Test("A value that a body repeats in another place by chance is no part of its hash: a replay may send another secret")
    func digest() async throws {
        func request(_ secret: String) throws -> TransportRequest {
            let body = #"{"password":"\#(secret)","email":"test-1234"}"#
            return try TransportRequest("https://api.test/", .post, body: .bytes(Array(body.utf8)))
        }
        try await site.record([request("test-1234")]) { TransportResponse("", to: $0) }
        let replay = try ReplayTransport(from: site.recording, comparingBodiesBy: .standard)
        #expect(try await replay.send(request("another-password-1")).status == 200)
    }

    @Test(
        "What is only within a secret object, and words, stay where they are not secret",
        arguments: [
            (#"{"session":{"userId":10000042},"user":{"id":10000042}}"#, #"{"session":{"userId":0},"user":{"id":10000042}}"#),
            (
                #"{"session":{"user":{"kind":"Customer-1"}},"items":[{"kind":"Customer-1"}]}"#,
                #"{"session":{"user":{"kind":"REDACTED"}},"items":[{"kind":"Customer-1"}]}"#
            ),
            (#"{"debug":"body {\"pin\":47114711}","user":{"id":47114711}}"#, #"{"debug":"REDACTED","user":{"id":0}}"#),
            (#"{"credential":"passport","passport":{"a":1}}"#, #"{"credential":"REDACTED","passport":{"a":1}}"#),
        ])
    func innocent(body: String, result: String) async throws {
        #expect(try await recorded("", Self.json, response: body, Self.json) == result)
    }

    @Test("Values within a secret element of XML stay elsewhere")
    func innocentXML() async throws {
        let response = try await recorded(
            "", Self.json, response: "<a><session><user>10000042-x</user></session><id>10000042-x</id></a>", "text/xml")
        #expect(response == "<a><session><user>REDACTED</user></session><id>10000042-x</id></a>")
    }

    @Test("Words, dates and numbers of the head change nothing in bodies")
    func head() async throws {
        let text =
            #"{"customer":"comments","representation":"2024-01-01","id":10000042,"t":1700000000,"v":"2022-11-28","u":"https://app.example.com"}"#
        let fields: [(String, String)] = [
            ("Prefer", "return=representation"), ("X-GitHub-Api-Version", "2022-11-28"), ("Origin", "https://app.example.com"),
            ("Signature-Input", "sig1=(\"@method\");created=1700000000"),
        ]
        var heads: HTTPFields = [:]
        for (name, value) in fields { heads[try #require(HTTPField.Name(name))] = value }
        let url = "https://api.test/?expand=customer&include=comments&from=2024-01-01&id=10000042"
        try await site.record([TransportRequest(url, .get, heads)]) {
            TransportResponse(text, to: $0, [.contentType: Self.json, .setCookie: "a=opaque-abc123; Path=/comments; Expires=2024-01-01"])
        }
        #expect(try await ReplayTransport(from: site.recording).send(TransportRequest(url)).text == text)
    }

    @Test(
        "A credential of the head is not in a body, also one that is sent as a user's name or has brackets",
        arguments: [
            // sk_live_51Habc123: and svc:Xk9[tR2}mQ7
            ("/", "Authorization", "Basic c2tfbGl2ZV81MUhhYmMxMjM6", "sk_live_51Habc123"),
            ("/", "Authorization", "Basic c3ZjOlhrOVt0UjJ9bVE3", "Xk9[tR2}mQ7"), ("/", "X-Api-Key", "k[9]zz12345", "k[9]zz12345"),
            ("/?password=p%7Bss1word", "Accept", "*/*", "p{ss1word"), ("/", "Cookie", "s=k[9]zz12345", "k[9]zz12345"),
            ("/", "X-Tenant-Login", "k[9]zz12345", "k[9]zz12345"),
        ])
    func credentials(path: String, name: String, value: String, secret: String) async throws {
        let request = try TransportRequest("https://api.test\(path)", .get, [try #require(HTTPField.Name(name)): value])
        try await site.record([request]) {
            TransportResponse("{\"message\":\"No such key \(secret)\"}", to: $0, [.contentType: Self.json])
        }
        #expect(try await ReplayTransport(from: site.recording).send(request).text == #"{"message":"No such key REDACTED"}"#)
    }

    @Test("A body of several parts is refused, and a request's has no hash")
    func multipart() async throws {
        let type = "multipart/form-data; boundary=x"
        let request = try TransportRequest("https://api.test/", .post, [.contentType: type], body: .bytes(Array("a=1".utf8)))
        let error = try #require(
            await #expect(throws: TransportError.self) {
                try await site.record([request]) { TransportResponse("a", to: $0, [.contentType: type]) }
            })
        #expect(error.message.contains("multipart") && error.message.contains(".keep"))
        try await site.record([request]) { TransportResponse("a", to: $0) }
        #expect(try !site.everything.contains("bodySHA256"))
    }
}
