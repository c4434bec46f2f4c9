import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

// Acceptance list: S3.6
@Suite struct RecordingTransportTests {
    private let site: Site

    init() throws { site = try Site() }

    @Test("A recorded exchange is replayed with its status, fields and body")
    func roundTrip() async throws {
        let request = try TransportRequest("https://api.test:8443/items/7?page=2")
        let binary = Array(UInt8.min...UInt8.max)
        try await site.record([request]) { request in
            TransportResponse(
                status: 203, headerFields: [.contentType: "image/x", .eTag: "\"e\""], version: "HTTP/2", url: request.url,
                body: ResponseBody(bytes: binary))
        }
        #expect(try site.names.map { $0.suffix(5) } == [".body", ".json"])
        #expect(try site.names.allSatisfy { $0.hasPrefix("0001-GET-api.test-8443-items-7-") })
        let response = try await ReplayTransport(from: site.recording).send(request)
        #expect(response.status == 203 && response.version == "HTTP/2" && response.url == request.url)
        #expect(response.headerFields[.contentType] == "image/x" && response.headerFields[.eTag] == "\"e\"")
        #expect(try await response.body.collect(upTo: 1_000) == binary)
    }

    @Test("The files and the folder are private")
    func modes() async throws {
        try await site.record([TransportRequest("https://api.test/")]) { TransportResponse("body", to: $0) }
        let attributes = try FileManager.default.attributesOfItem(atPath: site.recording.path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        for name in try site.names {
            let attributes = try FileManager.default.attributesOfItem(atPath: site.recording.appending(path: name).path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("Redirects, errors and responses without content are recorded although the caller drops their bodies")
    func droppedBodies() async throws {
        let transport = try RecordingTransport(
            wrapping: InProcessTransport { request in
                TransportResponse("why", to: request, status: Int(request.url.target.dropFirst()) ?? 200)
            }, into: site.recording)
        for status in [204, 307, 401, 503] { _ = try await transport.send(TransportRequest("https://api.test/\(status)")) }
        _ = try await transport.send(TransportRequest("https://api.test/200", .head))
        #expect(try site.names.count { $0.hasSuffix(".json") } == 5)
        // This body is dropped unread.
        _ = try await transport.send(TransportRequest("https://api.test/200"))
        #expect(try site.names.count { $0.hasSuffix(".json") } == 5)
    }

    @Test("The trailer fields of a response reach the caller, whatever its status is", arguments: [200, 404])
    func trailers(status: Int) async throws {
        let transport = try RecordingTransport(
            wrapping: InProcessTransport { request in
                TransportResponse(
                    status: status, url: request.url,
                    body: ResponseBody(source: ReadBodySource(Array("body".utf8), trailers: [.contentLanguage: "en"])))
            }, into: site.recording)
        let response = try await transport.send(TransportRequest("https://api.test/"))
        #expect(try await response.text == "body")
        #expect(response.body.trailerFields[.contentLanguage] == "en")
    }

    @Test("No part of an exchange keeps a secret", arguments: ["application/json", "text/plain", "application/x-www-form-urlencoded", nil])
    func canaries(type: String?) async throws {
        let custom = try #require(HTTPField.Name("X-Acme"))
        let request = try TransportRequest(
            "https://api.test/login?key=canary-query-1&page=3&canary-query-2&cursor=canary%2Dquery%2D3", .post,
            [
                .authorization: "Bearer canary-bearer", .cookie: "id=canary-cookie; x=canary-cookie-2", custom: "canary-custom-1",
                .contentType: "application/json",
            ], body: .bytes(Array("{\"password\":\"canary-password\"}".utf8)))
        try await site.record([request]) { request in
            let json = "{\"access_token\":\"canary-token\",\"pin\":4711,\"list\":[\"canary-bearer\",\"canary-query-1\"],\"plain\":\"kept\"}"
            let text = "canary-bearer canary-custom-1 canary-query-2 canary-query-3 eyJhbGciOiJub25lIn0.canary.canary kept"
            var fields: HTTPFields = [.setCookie: "id=canary-set; Secure", .location: "https://canary:canary@api.test/x?c=canary#canary"]
            fields[.contentType] = type
            let form = "access_token=canary-token&plain=kept&x=canary-bearer"
            return TransportResponse(
                type == "application/json" ? json : type == "text/plain" || type == nil ? text : form, to: request, fields)
        }
        let everything = try site.everything
        #expect(!everything.lowercased().contains("canary") && !everything.contains("4711"))
        #expect(everything.contains("page=3") && everything.contains("kept") && everything.contains("key=REDACTED&"))
        // The live request, with its secrets, still finds its response.
        let answer = try await ReplayTransport(from: site.recording, comparingBodiesBy: .standard).send(request)
        #expect(answer.status == 200)
    }

    @Test("A download that is resumed with If-Range is replayed with the ETag and the date that it needs")
    func resumed() async throws {
        let date = "Sat, 28 Nov 2026 06:00:00 GMT"
        let (sent, tag) = (try #require(HTTPField.Name("X-Date")), try #require(HTTPField.Name("X-Tag")))
        let request = try TransportRequest(
            "https://api.test/video?type=video/mp4", .get,
            [.range: "bytes=4-", .ifRange: "\"v2-8d3f9c1e\"", sent: date, tag: "\"v2-8d3f9c1e\""])
        try await site.record([request]) { request in
            let fields: HTTPFields = [
                .eTag: "\"v2-8d3f9c1e\"", .lastModified: date, .contentRange: "bytes 4-7/8", .contentType: "video/mp4",
            ]
            return TransportResponse("rest", to: request, status: 206, fields)
        }
        #expect(try site.everything.contains(#"If-Range: \"v2-8d3f9c1e\""#))
        let response = try await ReplayTransport(from: site.recording).send(request)
        #expect(response.status == 206 && response.headerFields[.eTag] == "\"v2-8d3f9c1e\"")
        #expect(response.headerFields[.lastModified] == date && response.headerFields[.contentRange] == "bytes 4-7/8")
        #expect(response.headerFields[.contentType] == "video/mp4")
    }

    @Test("A challenge loses a secret that only the body of its response names")
    func challenge() async throws {
        try await site.record([TransportRequest("https://api.test/")]) { request in
            TransportResponse(
                "{\"refresh_token\":\"canary-8d3f9c1e\"}", to: request, status: 401,
                [.contentType: "application/json", .wwwAuthenticate: "Bearer error_description=\"canary-8d3f9c1e is spent\""])
        }
        #expect(try site.everything.contains("REDACTED is spent") && !site.everything.contains("canary"))
    }

    @Test("A field of the request that is kept loses a secret that only a body or the response names")
    func keptRequestFields() async throws {
        var rules = RecordingRedaction.standard
        rules.keptFields.insert("X-Note")
        let request = try TransportRequest(
            "https://api.test/", .post,
            [try #require(HTTPField.Name("X-Note")): "canary-1aaaa canary-2bbbb", .userAgent: "app/1 canary-3cccc"],
            body: .bytes(Array(#"{"password":"canary-1aaaa"}"#.utf8)))
        try await site.record([request], redaction: rules) {
            TransportResponse(
                #"{"access_token":"canary-2bbbb"}"#, to: $0, [.contentType: "application/json", .setCookie: "id=canary-3cccc"])
        }
        let everything = try site.everything
        #expect(!everything.contains("canary"))
        #expect(everything.contains("X-Note: REDACTED REDACTED") && everything.contains("User-Agent: app/1 REDACTED"))
    }

    @Test("Equal values of header fields have equal digits in one recording, and others in the next")
    func equality() async throws {
        func digits(_ site: Site) async throws -> [String] {
            let requests = try ["a", "b", "a"].map { try TransportRequest("https://api.test/\($0)", .get, [.authorization: "Basic \($0)"]) }
            try await site.record(requests) { TransportResponse("", to: $0) }
            return try site.names.map { name in
                let text = try String(contentsOf: site.recording.appending(path: name), encoding: .utf8)
                let value = try #require(text.firstRange(of: "Authorization: ")).upperBound
                return String(text[value...].prefix(15))
            }
        }
        let (first, second) = (try await digits(site), try await digits(Site()))
        #expect(first.allSatisfy(RedactedText.isRedacted) && first[0] == first[2] && first[0] != first[1])
        #expect(first[0] != second[0])
    }

    @Test("Named fields, query parameters and paths follow the rules, and credentials are redacted even if they are named")
    func rules() async throws {
        var rules = RecordingRedaction.standard
        rules.keptFields.formUnion(["X-Kept", "authorization"])
        rules.keptQueryNames = ["q"]
        rules.secretNames = ["IBAN"]
        rules.maskedPaths = ["/reset/*"]
        let kept = try #require(HTTPField.Name("x-kept"))
        let request = try TransportRequest(
            "https://api.test/reset/canary-path/go?q=kept-query&page=canary-page", .get, [kept: "kept-field", .authorization: "canary"])
        try await site.record([request], redaction: rules) {
            TransportResponse("{\"iban\":\"canary\",\"path\":\"canary-path\"}", to: $0, [.contentType: "application/problem+json"])
        }
        let everything = try site.everything
        #expect(!everything.contains("canary"))
        #expect(everything.contains("kept-query") && everything.contains("kept-field") && everything.contains("/reset/REDACTED/go"))
        #expect(try await ReplayTransport(from: site.recording).send(request).status == 200)

        rules.bodies = .keep
        try await site.record([request], redaction: rules) { TransportResponse("{\"iban\":\"as it is\"}", to: $0) }
        #expect(try site.everything.contains("{\"iban\":\"as it is\"}"))
    }

    @Test(
        "A secret in a segment of the path is in no file and no name of one, and the live request finds its response",
        arguments: ["proxy/https%3A%2F%2Fbob%3ASup3rSecret%40app.test%2Fx", "verify/eyJhbGciOiJIUzI1NiJ9.e30.Sup3rSecret"])
    func secretSegments(path: String) async throws {
        let request = try TransportRequest("https://api.test/\(path)")
        try await site.record([request]) { TransportResponse("x", to: $0, [.location: "/\(path)", .contentType: "text/plain"]) }
        #expect(try !site.everything.contains("Sup3rSecret"))
        #expect(try await ReplayTransport(from: site.recording).send(request).status == 200)
    }

    @Test("A body whose secrets cannot be found is not recorded", arguments: [true, false])
    func unredactable(isCompressed: Bool) async throws {
        let fields: HTTPFields = isCompressed ? [.contentEncoding: "gzip"] : [.contentType: "application/json"]
        await #expect(throws: TransportError(.recordingFailed, "")) {
            try await site.record([TransportRequest("https://api.test/")]) {
                TransportResponse("{\"password\":\"canary\"", to: $0, fields)
            }
        }
        #expect(try site.names.isEmpty)
    }

    @Test("A body or recording beyond its limit fails, and a body that is dropped gives its room back")
    func limits() async throws {
        var limits = RecordingLimits()
        // The heads take some hundred bytes.
        limits.maximumBodyBytes = 100_000
        limits.maximumTotalBytes = 152_000
        let transport = try RecordingTransport(
            wrapping: InProcessTransport { request in
                let size = Int(request.url.target.dropFirst()) ?? 0
                return TransportResponse(String(repeating: "x", count: size), to: request)
            }, into: site.recording, limits: limits)
        func read(_ size: Int) async throws { _ = try await transport.send(TransportRequest("https://api.test/\(size)")).text }
        await #expect(throws: TransportError(.recordingFailed, "")) { try await read(100_001) }
        for _ in 0..<10 {
            let response = try await transport.send(TransportRequest("https://api.test/90000"))
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
        }
        try await read(100_000)
        try await read(50_000)
        await #expect(throws: TransportError(.recordingFailed, "")) { try await read(2_000) }
        #expect(try site.names.count { $0.hasSuffix(".json") } == 2)
    }

    @Test("The room of a body that cannot be written is given back, and heads take room")
    func room() async throws {
        var limits = RecordingLimits()
        limits.maximumTotalBytes = 3_000
        let transport = try RecordingTransport(
            wrapping: InProcessTransport { request in
                if request.url.target == "/empty" { return TransportResponse("", to: request) }
                return TransportResponse(
                    "{\"a\":\"" + String(repeating: "x", count: 2_000), to: request, [.contentType: "application/json"])
            }, into: site.recording, limits: limits)
        for _ in 0..<10 {
            let error = try #require(
                await #expect(throws: TransportError.self) { _ = try await transport.send(TransportRequest("https://api.test/")).text })
            #expect(error.message.contains("not JSON"))
        }
        await #expect(throws: TransportError(.recordingFailed, "")) {
            for _ in 0..<100 { _ = try await transport.send(TransportRequest("https://api.test/empty")).text }
        }
        #expect(try site.everything.utf8.count < 5_000)
    }

    @Test("A head that is too large leaves no file")
    func largeHead() async throws {
        await #expect(throws: TransportError(.recordingFailed, "")) {
            try await site.record([TransportRequest("https://api.test/")]) {
                TransportResponse("body", to: $0, [.contentType: String(repeating: "x", count: 1 << 20)])
            }
        }
        #expect(try site.names.isEmpty)
    }

    @Test("An exchange whose redacted URL no replay could read is not recorded")
    func longURL() async throws {
        let query = String(repeating: "a=1&", count: 5_000)
        let error = try #require(
            await #expect(throws: TransportError.self) {
                try await site.record([TransportRequest("https://api.test/?\(query)")]) { TransportResponse("body", to: $0) }
            })
        #expect(error.code == .recordingFailed && error.message.contains("without recording"))
        #expect(try site.names.isEmpty)
    }

    @Test("A token response of OAuth 2 keeps its token_type")
    func tokenResponse() async throws {
        let text = #"{"access_token":"opaque-abc123","token_type":"Bearer","expires_in":3600,"refresh_token_expires_in":86400}"#
        try await site.record([TransportRequest("https://api.test/token", .post)]) {
            TransportResponse(text, to: $0, [.contentType: "application/json"])
        }
        let answer = try await ReplayTransport(from: site.recording).send(TransportRequest("https://api.test/token", .post))
        #expect(try await answer.text == text.replacing("opaque-abc123", with: "REDACTED"))
    }

    @Test("The links of a response keep their paths, and lose the secrets in their queries")
    func links() async throws {
        let request = try TransportRequest("https://api.test/items")
        let link = try #require(HTTPField.Name("Link"))
        let sent =
            #"canary-0, <https://api.test/items?page=2&access_token=canary-1>; rel="next"; anchor="?token=canary-2","#
            + #" </items?page=9>; title=canary-3; rel="last", <canary-4; rel="x""#
        try await site.record([request]) { TransportResponse("", to: $0, [link: sent]) }
        let replayed = try await ReplayTransport(from: site.recording).send(request)
        #expect(
            replayed.headerFields[link]
                == #"<https://api.test/items?page=2&access_token=REDACTED>; rel="next", </items?page=9>; rel="last""#)
    }

    @Test("A body that fails on its way is not recorded, even if its caller reads on, and gives its room back")
    func brokenBody() async throws {
        struct Broken: Error {}
        /// Fails once, after the first part.
        actor Source: ResponseBodySource {
            private var parts: [[UInt8]?] = [[65], nil, [66]]
            nonisolated var trailers: HTTPFields { [:] }
            func next() async throws -> [UInt8]? {
                guard !parts.isEmpty else { return nil }
                guard let part = parts.removeFirst() else { throw Broken() }
                return part
            }
        }
        var limits = RecordingLimits()
        limits.maximumTotalBytes = 4_500
        let transport = try RecordingTransport(
            wrapping: InProcessTransport { request in
                request.url.target == "/whole"
                    ? TransportResponse(String(repeating: "x", count: 4_000), to: request)
                    : TransportResponse(status: 200, url: request.url, body: ResponseBody(source: Source()))
            }, into: site.recording, limits: limits)
        let response = try await transport.send(TransportRequest("https://api.test/"))
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == [65])
        await #expect(throws: Broken.self) { try await iterator.next() }
        while try await iterator.next() != nil {}
        #expect(try site.names.isEmpty)
        // Many of them leave all the room.
        for _ in 0..<600 {
            var iterator = try await transport.send(TransportRequest("https://api.test/")).body.makeAsyncIterator()
            for _ in 0..<4 { _ = try? await iterator.next() }
        }
        let whole = String(repeating: "x", count: 4_000)
        let other = try TransportRequest("https://api.test/whole")
        #expect(try await transport.send(other).text == whole)
        #expect(try site.names.count == 2)
    }

    @Test("A full folder refuses a request before it is sent")
    func fullFolder() async throws {
        var limits = RecordingLimits()
        limits.maximumExchanges = 1
        let base = InProcessTransport(status: 200)
        let transport = try RecordingTransport(wrapping: base, into: site.recording, limits: limits)
        _ = try await transport.send(TransportRequest("https://api.test/")).text
        let error = try #require(
            await #expect(throws: TransportError.self) { try await transport.send(TransportRequest("https://api.test/")) })
        #expect(error.code == .recordingFailed && error.message.contains("maximumExchanges"))
        #expect(base.requests.count == 1)
    }

    @Test("A folder in which the last number is taken refuses a request and says so")
    func lastNumber() async throws {
        try site.write("", to: "9999-GET-api.test.body")
        let transport = try RecordingTransport(wrapping: InProcessTransport(status: 200), into: site.recording)
        let error = try #require(
            await #expect(throws: TransportError.self) { try await transport.send(TransportRequest("https://api.test/")) })
        #expect(error.code == .recordingFailed && error.message.contains("9999") && error.message.contains("another folder"))
    }

    @Test("A request that fails, and a body that is dropped, take no place in the folder")
    func giveBack() async throws {
        var limits = RecordingLimits()
        limits.maximumExchanges = 1
        let failures = Shared(3)
        let base = InProcessTransport { request in
            if failures.change({
                $0 -= 1; return $0 >= 0
            }) {
                throw TransportError(.connectionFailed, "no route")
            }
            return TransportResponse("body", to: request)
        }
        let transport = try RecordingTransport(wrapping: base, into: site.recording, limits: limits)
        for _ in 0..<3 {
            await #expect(throws: TransportError(.connectionFailed, "")) { try await transport.send(TransportRequest("https://api.test/")) }
        }
        for _ in 0..<3 { _ = try await transport.send(TransportRequest("https://api.test/")) }
        #expect(try await transport.send(TransportRequest("https://api.test/")).text == "body")
        // Their numbers were used again.
        #expect(try Set(site.names.compactMap(RecordingName.number)) == [1])
        await #expect(throws: TransportError(.recordingFailed, "")) { try await transport.send(TransportRequest("https://api.test/")) }
    }

    @Test("A status above 599 is recorded and replayed")
    func highStatus() async throws {
        let transport = try RecordingTransport(wrapping: InProcessTransport(status: 999), into: site.recording)
        #expect(try await transport.send(TransportRequest("https://api.test/")).status == 999)
        #expect(try await ReplayTransport(from: site.recording).send(TransportRequest("https://api.test/")).status == 999)
    }

    @Test("A body that no replay would read is not recorded, whatever the limits are")
    func longestBody() async throws {
        var limits = RecordingLimits()
        (limits.maximumBodyBytes, limits.maximumTotalBytes) = (1 << 30, 1 << 30)
        let part = [UInt8](repeating: 0x61, count: 8 << 20)
        let base = InProcessTransport { request in
            TransportResponse(
                status: 200, url: request.url,
                body: ResponseBody(source: RepeatedSource(part, count: request.url.target == "/long" ? 9 : 8)))
        }
        // So many bytes take long to search in a debug build.
        var rules = RecordingRedaction.standard
        rules.bodies = .keep
        let transport = try RecordingTransport(wrapping: base, into: site.recording, redaction: rules, limits: limits)
        let long = try await transport.send(TransportRequest("https://api.test/long"))
        await #expect(throws: TransportError(.recordingFailed, "")) { try await long.body.collect(upTo: .max) }
        let longest = try await transport.send(TransportRequest("https://api.test/longest"))
        #expect(try await longest.body.collect(upTo: .max).count == 64 << 20)
        let replayed = try await ReplayTransport(from: site.recording).send(TransportRequest("https://api.test/longest"))
        #expect(try await replayed.body.collect(upTo: .max).count == 64 << 20)
    }

    /// A body of the same part several times.
    private actor RepeatedSource: ResponseBodySource {
        private let part: [UInt8]
        private var left: Int
        nonisolated var trailers: HTTPFields { [:] }

        init(_ part: [UInt8], count: Int) { (self.part, left) = (part, count) }

        func next() -> [UInt8]? {
            guard left > 0 else { return nil }
            left -= 1
            return part
        }
    }

    @Test("A recording is continued with the next number, and concurrent requests get separate files")
    func numbers() async throws {
        try await site.record([TransportRequest("https://api.test/"), TransportRequest("https://api.test/")]) {
            TransportResponse("", to: $0)
        }
        try site.write("not of a recording", to: "20240101-notes.txt")
        let transport = try RecordingTransport(wrapping: InProcessTransport(status: 200), into: site.recording)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await transport.send(TransportRequest("https://api.test/")).text } }
            try await group.waitForAll()
        }
        #expect(try site.names.compactMap(RecordingName.number) == Array(1...52))
    }

    @Test("A folder that other users can write to, a file in its place and a transport that replays are refused")
    func unsafe() throws {
        let base = InProcessTransport(status: 200)
        try FileManager.default.createDirectory(at: site.recording, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: site.recording.path)
        #expect(throws: TransportError(.recordingFailed, "")) { try RecordingTransport(wrapping: base, into: site.recording) }
        let file = URL(filePath: try site.folder.write("", to: "file"))
        #expect(throws: TransportError(.recordingFailed, "")) { try RecordingTransport(wrapping: base, into: file) }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: site.recording.path)
        try site.write(#"{"request":{"method":"GET","url":"https://api.test/"},"response":{"status":200}}"#, to: "1.json")
        let replay = try ReplayTransport(from: site.recording)
        #expect(throws: TransportError(.unsupported, "")) { try RecordingTransport(wrapping: replay, into: site.recording) }
    }

    @Test("An exchange that cannot be written is an error of the body, and does not overwrite a link")
    func unwritable() async throws {
        let request = try TransportRequest("https://api.test/a")
        let target = try site.folder.write("untouched", to: "target")
        let transport = try RecordingTransport(wrapping: InProcessTransport(status: 200, body: [65]), into: site.recording)
        let stem = RecordingName.stem(number: 1, method: .get, url: request.url.text)
        try FileManager.default.createSymbolicLink(
            atPath: site.recording.appending(path: stem + ".body").path, withDestinationPath: target)
        let error = try #require(
            await #expect(throws: TransportError.self) { _ = try await transport.send(request).text })
        #expect(error.code == .recordingFailed)
        #expect(try site.folder.text("target") == "untouched")
    }

    @Test("Messages of Oblivious HTTP pass unrecorded")
    func oblivious() async throws {
        let request = try TransportRequest("https://relay.test/", .post, [.contentType: "message/ohttp-req"], body: .bytes([1]))
        try await site.record([request]) { TransportResponse("sealed", to: $0) }
        #expect(try site.names.isEmpty)
    }
}
