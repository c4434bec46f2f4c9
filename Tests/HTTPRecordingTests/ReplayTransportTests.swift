import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct ReplayTransportTests {
    private let site: Site

    init() throws { site = try Site() }

    private func head(_ url: String = "https://api.test/", _ response: String = #""status":200"#, method: String = "GET") -> String {
        #"{"request":{"method":"\#(method)","url":"\#(url)"},"response":{\#(response)}}"#
    }

    private func status(_ transport: ReplayTransport, _ text: String, _ method: HTTPRequest.Method = .get) async throws -> Int {
        try await transport.send(TransportRequest(text, method)).status
    }

    /// The error with which the recording cannot be used, which must name the file.
    private func refusal(naming name: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let error = try #require(
            await #expect(throws: TransportError.self, sourceLocation: sourceLocation) {
                _ = try await ReplayTransport(from: site.recording).send(TransportRequest("https://api.test/"))
            }, sourceLocation: sourceLocation)
        #expect(error.code == .recordingMissing && error.message.contains(name), sourceLocation: sourceLocation)
    }

    @Test("Several responses to one request come in their order, and the last one stays")
    func order() async throws {
        for status in [201, 202, 203] { try site.write(head("https://api.test/", #""status":\#(status)"#), to: "\(status).json") }
        let transport = try ReplayTransport(from: site.recording)
        var seen: [Int] = []
        for _ in 0..<5 { seen.append(try await status(transport, "https://api.test/")) }
        #expect(seen == [201, 202, 203, 203, 203])
    }

    @Test("Method, origin, path and query decide; the order of parameters does not count")
    func matching() async throws {
        try site.write(head("https://api.test/a?x=1&y=2&x=3"), to: "1.json")
        let transport = try ReplayTransport(from: site.recording)
        for url in ["https://api.test/a?x=1&y=2&x=3", "https://API.test:443/a?y=2&x=1&x=3#fragment"] {
            #expect(try await status(transport, url) == 200)
        }
        for url in [
            "https://api.test/a?x=3&y=2&x=1", "https://api.test/a?x=1&y=2", "https://api.test/a", "https://api.test/a/?x=1&y=2&x=3",
            "http://api.test/a?x=1&y=2&x=3", "https://api.test:444/a?x=1&y=2&x=3", "https://b.test/a?x=1&y=2&x=3",
        ] {
            await #expect(throws: TransportError(.recordingMissing, "")) { try await status(transport, url) }
        }
        await #expect(throws: TransportError(.recordingMissing, "")) {
            try await status(transport, "https://api.test/a?x=1&y=2&x=3", .post)
        }
    }

    @Test("A redacted value stands for the value that was redacted, and for itself")
    func redacted() async throws {
        let hash = RedactedText.hashed("first")
        try site.write(head("https://api.test/REDACTED/x?cursor=\(hash)&pin=REDACTED"), to: "1.json")
        let transport = try ReplayTransport(from: site.recording)
        for query in ["cursor=first&pin=1", "pin=2&cursor=first", "cursor=\(hash)&pin=REDACTED"] {
            #expect(try await status(transport, "https://api.test/secret/x?\(query)") == 200)
        }
        await #expect(throws: TransportError(.recordingMissing, "")) {
            try await status(transport, "https://api.test/secret/x?cursor=second&pin=1")
        }
    }

    @Test("An unmatched request fails without naming its URL, or gets a status, or goes to another transport")
    func unmatched() async throws {
        try site.write(head(), to: "1.json")
        let request = try TransportRequest("https://api.test/other?secret=canary")
        let error = try #require(
            await #expect(throws: TransportError.self) { try await ReplayTransport(from: site.recording).send(request) })
        #expect(error.code == .recordingMissing && error.isSafeToRepeat && !"\(error)".contains("canary"))
        #expect(error.message.contains(site.recording.path))
        #expect(try await ReplayTransport(from: site.recording, unmatched: .respond(status: 404)).send(request).status == 404)
        let other = InProcessTransport(status: 299)
        #expect(try await ReplayTransport(from: site.recording, unmatched: .send(over: other)).send(request).status == 299)
    }

    @Test("Bodies are compared only if the caller asks for it")
    func bodies() async throws {
        let requests = try ["[1]", "[2]"].map { try TransportRequest("https://api.test/", .post, body: .bytes(Array($0.utf8))) }
        try await site.record(requests) { request in
            guard case .bytes(let bytes) = request.body else { return TransportResponse("", to: request) }
            return TransportResponse("to " + String(decoding: bytes, as: UTF8.self), to: request)
        }
        let comparing = try ReplayTransport(from: site.recording, comparingBodiesBy: .standard)
        #expect(try await comparing.send(requests[1]).text == "to [2]")
        #expect(try await comparing.send(requests[0]).text == "to [1]")
        let third = try TransportRequest("https://api.test/", .post, body: .bytes([3]))
        await #expect(throws: TransportError(.recordingMissing, "")) { try await comparing.send(third) }
        #expect(try await ReplayTransport(from: site.recording).send(third).text == "to [1]")
    }

    @Test("A recorded request without a hash matches any body, in order, and a hash of a text from an earlier version is compared")
    func textBodies() async throws {
        let requests = try ["493027", "493028"].map {
            try TransportRequest("https://api.test/", .post, [.contentType: "text/plain"], body: .bytes(Array($0.utf8)))
        }
        let statuses = Shared([201, 202])
        try await site.record(requests) { TransportResponse("", to: $0, status: statuses.change { $0.removeFirst() }) }
        #expect(try !site.everything.contains("bodySHA256"))
        let replay = try ReplayTransport(from: site.recording, comparingBodiesBy: .standard)
        #expect(try await replay.send(requests[1]).status == 201)
        #expect(try await replay.send(requests[0]).status == 202)

        let earlier = try Site()
        for (index, request) in requests.enumerated() {
            var found: Set<NotedSecret> = []
            let digest = try #require(BodyDigest.text(of: request, Redactor(.standard), [], found: &found))
            let head = #"{"method":"POST","url":"https://api.test/","bodySHA256":"\#(digest)"}"#
            try earlier.write(#"{"request":\#(head),"response":{"status":\#(201 + index)}}"#, to: "\(index).json")
        }
        let comparing = try ReplayTransport(from: earlier.recording, comparingBodiesBy: .standard)
        #expect(try await comparing.send(requests[1]).status == 202)
        #expect(try await comparing.send(requests[0]).status == 201)
        let other = try TransportRequest("https://api.test/", .post, [.contentType: "text/plain"], body: .bytes([1]))
        await #expect(throws: TransportError(.recordingMissing, "")) { try await comparing.send(other) }
    }

    @Test("A request whose body has no hash takes the answer of one without a hash first")
    func withoutHash() async throws {
        let hash = String(repeating: "0", count: 64)
        let hashed = #"{"method":"POST","url":"https://api.test/","bodySHA256":"\#(hash)"}"#
        try site.write(#"{"request":\#(hashed),"response":{"status":201}}"#, to: "1.json")
        try site.write(head("https://api.test/", #""status":202"#, method: "POST"), to: "2.json")
        let request = try TransportRequest(
            "https://api.test/", .post, [.contentType: "multipart/form-data; boundary=b"], body: .bytes([1]))
        let replay = try ReplayTransport(from: site.recording, comparingBodiesBy: .standard)
        #expect(try await replay.send(request).status == 202)
        #expect(try await ReplayTransport(from: site.recording).send(request).status == 201)
    }

    @Test("The length of an edited body is right, and HEAD gets none")
    func lengths() async throws {
        try site.write("edited", to: "b")
        for method in ["GET", "HEAD"] {
            try site.write(
                head("https://api.test/", #""status":200,"body":"b","fields":["Content-Length: 3"]"#, method: method), to: "\(method).json")
        }
        let transport = try ReplayTransport(from: site.recording)
        let got = try await transport.send(TransportRequest("https://api.test/"))
        #expect(got.headerFields[.contentLength] == "6")
        #expect(try await got.text == "edited")
        let head = try await transport.send(TransportRequest("https://api.test/", .head))
        #expect(head.headerFields[.contentLength] == "3")
        #expect(try await head.text.isEmpty)
    }

    @Test("A recorded part of the content does not answer a request for the whole")
    func parts() async throws {
        try await site.record([TransportRequest("https://api.test/", .get, [.range: "bytes=4-"])]) {
            TransportResponse("rest", to: $0, status: 206)
        }
        let transport = try ReplayTransport(from: site.recording)
        await #expect(throws: TransportError(.recordingMissing, "")) { try await status(transport, "https://api.test/") }
        #expect(try await transport.send(TransportRequest("https://api.test/", .get, [.range: "bytes=4-"])).status == 206)
    }

    @Test("A body larger than the request allows is refused")
    func tooLarge() async throws {
        try site.write("123456", to: "b")
        try site.write(head("https://api.test/", #""status":200,"body":"b""#), to: "1.json")
        var request = try TransportRequest("https://api.test/")
        request.options.maximumBodyBytes = 5
        let transport = try ReplayTransport(from: site.recording)
        await #expect(throws: TransportError(.bodyTooLarge, "")) { try await transport.send(request) }
    }

    @Test("A missing or empty folder is refused by name")
    func missingFolder() async throws {
        try await refusal(naming: site.recording.path)
        try FileManager.default.createDirectory(at: site.recording, withIntermediateDirectories: true)
        try await refusal(naming: site.recording.path)
    }

    @Test(
        "A damaged exchange is refused by the name of its file",
        arguments: [
            "", "{", "[]", "{\"request\":{}}", "null", "{\"request\":{},\"response\":{},\"request\":{}}",
            #"{"request":{"method":"G T","url":"https://api.test/"},"response":{"status":200}}"#,
            #"{"request":{"method":"GET","url":"/relative"},"response":{"status":200}}"#,
            #"{"request":{"method":"GET","url":"file:///etc/passwd"},"response":{"status":200}}"#,
            #"{"request":{"method":"GET","url":"https://user@api.test/"},"response":{"status":200}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":99}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":"200"}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200,"fields":["no colon"]}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200,"fields":["A: b\r\nC: d"]}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200,"fields":"A: b"}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200,"fields":[1]}}"#,
            #"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200,"body":7}}"#,
        ])
    func damaged(text: String) async throws {
        try site.write(head(), to: "0.json")
        try site.write(text, to: "damaged.json")
        try await refusal(naming: "damaged.json")
    }

    @Test("A head that is nested 10,000 levels deep is refused by the name of its file", arguments: ["[", "{\"a\":"])
    func deepJSON(opening: String) async throws {
        let closing = opening == "[" ? "]" : "}"
        let open = String(repeating: opening, count: 10_000)
        let deep = open + "1" + String(repeating: closing, count: 10_000)
        for text in [deep, open, #"{"extra":\#(deep),"# + String(head().dropFirst())] {
            try site.write(text, to: "damaged.json")
            try await refusal(naming: "damaged.json is damaged: the JSON text is nested deeper than")
        }
    }

    @Test("An exchange that was cut at any byte is refused")
    func truncated() async throws {
        try await site.record([TransportRequest("https://api.test/")]) { TransportResponse("body", to: $0, [.contentType: "text/plain"]) }
        let name = try #require(try site.names.last)
        let text = try String(contentsOf: site.recording.appending(path: name), encoding: .utf8)
        // The last two bytes are the closing bracket and the end of the line.
        for count in 0..<text.utf8.count - 2 {
            try site.write(String(decoding: text.utf8.prefix(count), as: UTF8.self), to: name)
            try await refusal(naming: name)
        }
    }

    @Test("A body's name cannot lead out of the folder", arguments: ["../secret", "/etc/passwd", "..", ".", "", "a/b", "a\\u0000b"])
    func traversal(name: String) async throws {
        try site.folder.write("secret", to: "secret")
        try site.write(head("https://api.test/", #""status":200,"body":"\#(name)""#), to: "1.json")
        try await refusal(naming: "1.json")
    }

    @Test("A missing body, a symbolic link, a folder and a FIFO are refused by name")
    func unusableFiles() async throws {
        try site.write(head("https://api.test/", #""status":200,"body":"b""#), to: "1.json")
        let body = site.recording.appending(path: "b").path
        try await refusal(naming: body)
        try FileManager.default.createSymbolicLink(atPath: body, withDestinationPath: try site.folder.write("secret", to: "secret"))
        try await refusal(naming: body)
        try FileManager.default.removeItem(atPath: body)
        try FileManager.default.createDirectory(atPath: body, withIntermediateDirectories: false)
        try await refusal(naming: body)
        try FileManager.default.removeItem(atPath: body)
        #expect(mkfifo(body, 0o600) == 0)
        try await refusal(naming: body)

        let link = site.recording.appending(path: "2.json").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: site.recording.appending(path: "1.json").path)
        try await refusal(naming: "2.json")
    }

    @Test("The path of a folder or a file cannot add a line to an error")
    func controlCharacters() throws {
        let folder = site.folder.url.appending(path: "a\nb", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let empty = try #require(throws: TransportError.self) { try ReplayTransport(from: folder) }
        try Data("{".utf8).write(to: folder.appending(path: "c\nd.json"))
        let damaged = try #require(throws: TransportError.self) { try ReplayTransport(from: folder) }
        for error in [empty, damaged] {
            #expect(error.message.contains("a\\u{a}b") && !error.message.contains("\n"))
        }
        #expect(damaged.message.contains("c\\u{a}d.json"))
    }

    @Test("Heads that are too large together are refused, and the error says what to do")
    func largeHeads() throws {
        for number in 1...3 { try site.write(head(), to: "\(number).json") }
        let size = head().utf8.count
        #expect(try RecordingFolder(site.recording).exchanges(upTo: 3 * size).count == 3)
        let error = try #require(throws: TransportError.self) { try RecordingFolder(site.recording).exchanges(upTo: 3 * size - 1) }
        #expect(error.code == .recordingMissing && error.message.contains(site.recording.path) && error.message.contains("split it"))
    }

    @Test("A head that is too large is refused by name")
    func largeHead() async throws {
        try site.write(head() + String(repeating: " ", count: RecordedExchange.maximumBytes), to: "1.json")
        try await refusal(naming: "1.json")
    }
}
