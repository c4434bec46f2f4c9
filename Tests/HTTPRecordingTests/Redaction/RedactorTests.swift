import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RedactorTests {
    private func redacted(_ text: String, _ type: String?) throws -> String {
        String(decoding: try redacted(Array(text.utf8), type), as: UTF8.self)
    }

    private func redacted(_ bytes: [UInt8], _ type: String?) throws -> [UInt8] {
        var fields = HTTPFields()
        fields[.contentType] = type
        var found: Set<NotedSecret> = []
        let redactor = try Redactor(.standard)
        return redactor.scrubbed([], of: try redactor.body(bytes, fields, found: &found), fields)
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

    @Test("The password of Basic credentials is looked for, and a second Content-Type does not hide a body of several parts")
    func basicAndMultipart() throws {
        let redactor = try Redactor(.standard)
        var secrets: Set<NotedSecret> = []
        _ = redactor.lines([.authorization: "Basic Ym9iOlN1cDNyU2VjcmV0"], isRequest: true, &secrets)
        #expect(Set(secrets.map(\.text)).isSuperset(of: ["Sup3rSecret", "bob:Sup3rSecret", "Ym9iOlN1cDNyU2VjcmV0"]))
        var fields = HTTPFields()
        fields.append(HTTPField(name: .contentType, value: "text/plain"))
        fields.append(HTTPField(name: .contentType, value: "Multipart/Form-Data; boundary=b"))
        var found: Set<NotedSecret> = []
        #expect(throws: TransportError(.recordingFailed, "")) { try redactor.body(Array("x".utf8), fields, found: &found) }
    }

    @Test(
        "A field that is kept loses tokens, and what the request has as a secret, unless clients act on it or it is the path of a location")
    func keptFields() throws {
        var rules = RecordingRedaction.standard
        rules.keptFields.insert("X-Error")
        let redactor = try Redactor(rules)
        var secrets: Set<NotedSecret> = []
        let (error, tag) = (try #require(HTTPField.Name("X-Error")), try #require(HTTPField.Name("X-Tag")))
        let agent = try #require(HTTPField.Name("X-Amz-User-Agent"))
        _ = redactor.lines(
            [.authorization: "Bearer 8d3f9c1eabcd42", tag: "\"v2-8d3f9c1e\"", agent: "app/2-linux"], isRequest: true, &secrets)
        var fields = HTTPFields()
        fields[.eTag] = "\"v2-8d3f9c1e\""
        fields[.server] = "app/2-linux"
        fields[.cacheControl] = "eyJhbGciOiJIUzI1NiJ9.e30.c2ln"
        fields[error] = "8d3f9c1eabcd42 or eyJhbGciOiJIUzI1NiJ9.e30.c2ln is bad"
        fields[.location] = "/items/8d3f9c1eabcd42"
        fields[.wwwAuthenticate] = "Bearer error=\"invalid_token\", error_description=\"Invalid token: 8d3f9c1eabcd42\""
        fields[.contentDisposition] = "inline; filename=\"my-own-dog.txt\""
        #expect(
            redactor.lines(fields, isRequest: false, found: [NotedSecret("my-own-dog")], &secrets) == [
                "ETag: \"v2-8d3f9c1e\"", "Server: REDACTED", "Cache-Control: REDACTED", "X-Error: REDACTED or REDACTED is bad",
                "Location: /items/8d3f9c1eabcd42",
                "WWW-Authenticate: Bearer error=\"invalid_token\", error_description=\"Invalid token: REDACTED\"",
                "Content-Disposition: inline; filename=\"my-own-dog.txt\"",
            ])
    }

    @Test(
        "A location that the caller does not keep is redacted, and the secrets in it are noted",
        arguments: ["Location", "content-location"])
    func locations(name: String) throws {
        let field = try #require(HTTPField.Name(name))
        var rules = RecordingRedaction.standard
        var secrets: Set<NotedSecret> = []
        let fields: HTTPFields = [field: "/items?page=2&token=opaque-abc123"]
        var lines = try Redactor(rules).lines(fields, isRequest: false, &secrets)
        #expect(lines == ["\(name): /items?page=2&token=REDACTED"])
        rules.keptFields = rules.keptFields.filter { $0.lowercased() != name.lowercased() }
        secrets = []
        lines = try Redactor(rules).lines(fields, isRequest: false, &secrets)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("\(name): ") && RedactedText.isRedacted(line.dropFirst(name.count + 2)))
        #expect(secrets.contains(NotedSecret("opaque-abc123")))
    }

    @Test("The value of an unknown field of a response is looked for elsewhere, and a word or a date is not")
    func unknownResponseFields() throws {
        var secrets: Set<NotedSecret> = []
        let (user, version) = (try #require(HTTPField.Name("X-User-Reference")), try #require(HTTPField.Name("X-Version")))
        let lines = try Redactor(.standard).lines([user: "opaque-abc123", version: "2024-01-01"], isRequest: false, &secrets)
        #expect(secrets.map(\.text) == ["opaque-abc123"] && !lines.joined().contains("opaque"))
    }

    @Test(
        "Lines of JSON are redacted one by one", arguments: ["application/x-ndjson", "application/jsonl", "application/x-jsonlines;a=b"])
    func lines(type: String) throws {
        #expect(
            try redacted("{\"access_token\":\"x\"}\r\n\n[{\"pin\":1,\"a\":\"b\"}]\n", type)
                == "{\"access_token\":\"REDACTED\"}\r\n\n[{\"pin\":0,\"a\":\"b\"}]\n")
        #expect(throws: TransportError(.recordingFailed, "")) { try redacted("{\"a\":1}\nplain text", type) }
    }

    @Test(
        "A value of a form with a query or a document is replaced as a whole",
        arguments: [
            ("a=b&url=https%3A%2F%2Fh%2F%3Ftoken%3Dx", "a=b&url=REDACTED"),
            ("payload=%7B%22token%22%3A%22x%22%7D&c=d", "payload=REDACTED&c=d"),
            ("a=the+token+is+b&c=https%3A%2F%2Fh%2F%3Fpage%3D2", "a=the+token+is+b&c=https%3A%2F%2Fh%2F%3Fpage%3D2"),
        ])
    func formValues(text: String, result: String) throws {
        #expect(try redacted(text, "application/x-www-form-urlencoded") == result)
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

    @Test(
        "XML is redacted by its type, and without a type by its beginning",
        arguments: ["application/xml", "text/xml;charset=UTF-8", "application/soap+xml; charset=\"utf-8\"", "text/plain", nil])
    func xml(type: String?) throws {
        #expect(
            try redacted("\u{FEFF} <a password=\"x\"><token>y</token><b>z</b></a>", type)
                == "\u{FEFF} <a password=\"REDACTED\"><token>REDACTED</token><b>z</b></a>")
    }

    @Test(
        "XML that cannot be read is refused, whatever its type",
        arguments: ["<a password=\"canary\">", "<a><token>canary</a></token>", "<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>"],
        ["application/xml", "image/svg+xml", "text/plain", nil])
    func unreadableXML(text: String, type: String?) throws {
        let error = try #require(throws: TransportError.self) { try redacted(text, type) }
        #expect(error.code == .recordingFailed && error.message.contains(".keep") && !error.message.contains("canary"))
    }

    @Test("XML in another encoding than UTF-8 is refused")
    func encodings() throws {
        #expect(throws: TransportError(.recordingFailed, "")) { try redacted("<a>+ADw-</a>", "text/xml; Charset='utf-7'") }
        let bodies: [([UInt8], String)] = [
            ([0xFF, 0xFE, 0x3C, 0, 0x61, 0], "text/xml"), ([0xFE, 0xFF, 0, 0x3C, 0, 0x61], "text/plain"),
            ([0x3C, 0, 0x61, 0], "text/plain"),
        ]
        for (bytes, type) in bodies {
            #expect(throws: TransportError(.recordingFailed, "")) { try redacted(bytes, type) }
            #expect((try? redacted(bytes, nil)) == nil)
        }
    }

    @Test("A password in a URL is redacted in text, JSON, forms and XML")
    func urlPasswords() throws {
        let url = "postgres://bob:canary@canary@db.test/shop?a=b"
        #expect(
            try redacted("open \(url), https://x.test:80/@a", "text/plain")
                == "open postgres://REDACTED@db.test/shop?a=b, https://x.test:80/@a")
        for (text, type) in [
            ("{\"a\":\"\(url)\"}", "application/json"), ("a=\(url)", "application/x-www-form-urlencoded"), ("<a>\(url)</a>", "text/xml"),
            ("<a b='\(url)'/>", "text/xml"), ("{\"a\":\"db://u:can%23canary@h\"}", "application/json"),
            ("a=db://u:can%2523canary%40h", "application/x-www-form-urlencoded"), ("<a>x?next=db%3A%2F%2Fu%3Acanary%40h</a>", "text/xml"),
            ("<a><![CDATA[{\"\\u0070assword\":\"canary\"}]]></a>", "text/xml"),
        ] { #expect(try !redacted(text, type).contains("canary")) }
    }

    @Test("A user's name in a URL that may be a key is redacted in text, JSON, forms and XML, and another name stays")
    func urlKeys() throws {
        let (key, name) = ("https://ghp_16C7e42F292c@git.test/o/r.git", "https://git@git.test/o/r.git")
        for (begin, end, type) in [
            ("see ", "", "text/plain"), (#"{"clone_url":""#, #""}"#, "application/json"), ("a=", "", "application/x-www-form-urlencoded"),
            ("<a>", "</a>", "text/xml"),
        ] {
            #expect(try !redacted(begin + key + end, type).contains("16C7e42F292c"), "\(type)")
            let other = begin + name + end
            #expect(try redacted(other, type) == other, "\(type)")
        }
    }

    @Test(
        "A form's value is secret by each part of its name in brackets",
        arguments: [
            ("user[key]=x", "user[key]=REDACTED"), ("user[key][]=x", "user[key][]=REDACTED"),
            ("user%5Bkey%5D%5B0%5D=x", "user%5Bkey%5D%5B0%5D=REDACTED"), ("user[name][]=x", "user[name][]=x"),
        ])
    func formNames(text: String, result: String) throws { #expect(try redacted(text, "application/x-www-form-urlencoded") == result) }

    @Test(
        "YAML and TOML are refused, because a value may be in other lines than its name",
        arguments: ["application/yaml", "text/x-yaml; charset=utf-8", "application/openapi+yaml", "application/toml"])
    func configuration(type: String) throws {
        for text in ["password: |\n  canary-canary1\n", "- name: DB_PASSWORD\n  value: canary-canary1\n"] {
            let error = try #require(throws: TransportError.self) { try redacted(text, type) }
            #expect(error.code == .recordingFailed && error.message.contains(".keep") && !error.message.contains("canary"))
        }
        // What stands beside its name is looked for in the other body all the same.
        var found: Set<NotedSecret> = []
        let redactor = try Redactor(.standard)
        _ = try? redactor.body(Array("password: canary-canary1\n".utf8), [.contentType: type], found: &found)
        #expect(found.map(\.text) == ["canary-canary1"])
    }

    @Test("Named secrets in text are redacted, and HTML and binary content stay", arguments: ["text/plain", "text/csv", nil])
    func text(type: String?) throws {
        #expect(try redacted("user: bob\nPassword: a b c\n", type) == "user: bob\nPassword: REDACTED\n")
        let page = "<!DOCTYPE html><p>token: see <br> below"
        #expect(try redacted(page, "text/html") == page)
        let bytes: [UInt8] = [0x89] + Array("key=x".utf8)
        #expect(try redacted(bytes, "image/png") == bytes)
    }
}
