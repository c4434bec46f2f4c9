import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import TestTags
import Testing

/// Runs the snippets about `APIClient` against a server.
@Suite(.tags(.sockets)) struct ClientSnippetTests {
    private struct Seen: Equatable {
        let line: String
        let language: String?
    }

    /// Starts a server that answers GET with one JSON text and all else with another, and notes what it was asked.
    private func server(
        _ list: String = "[]", _ other: String = "{}", status: HTTPResponse.Status = .ok, _ seen: Shared<[Seen]>
    ) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(certificate: nil) { request in
            let name = request.headerFields.first { $0.name.canonicalName == "accept-language" }
            seen.change { $0.append(Seen(line: "\(request.method.rawValue) \(request.target)", language: name?.value)) }
            return TestResponse(status, headerFields: [.contentType: "application/json"], text: request.method == .get ? list : other)
        }
    }

    @Test("The README's client publishes an article, and lists others with its query")
    func publishing() async throws {
        let seen = Shared<[Seen]>([])
        let server = try await server(#"[{"id": 3, "title": "Linux"}]"#, #"{"id": 7, "title": "Swift"}"#, seen)
        let api = try #require(URL(string: server.url + "/v1"))
        let articles = try await publish("Swift", for: "alice", at: api, over: ApproovSession(service: nil))
        #expect(articles.map(\.title) == ["Linux"])
        #expect(seen.value.map(\.line) == ["POST /v1/articles", "GET /v1/articles?near=7&tags%5B0%5D=news&tags%5B1%5D=swift"])
        await server.stop()
    }

    @Test("The README's offline session gives what its recorded session received, without the server")
    func offline() async throws {
        let server = try await server(#"[{"id": 3, "title": "Linux"}]"#, #"{"id": 7, "title": "Swift"}"#, Shared([]))
        let folder = try TemporaryFolder()
        let api = try #require(URL(string: server.url + "/v1"))
        let live = try await publish("Swift", for: "alice", at: api, over: recordedSession(into: folder.file("recording"), service: nil))
        await server.stop()
        let replayed = try await publish("Swift", for: "alice", at: api, over: offlineSession(from: folder.file("recording")))
        #expect(replayed.map(\.id) == live.map(\.id) && live.map(\.id) == [3])
    }

    @Test("The article's rules add the language, and its deletion tells a refusal from an unreachable server")
    func rulesAndRefusals() async throws {
        let seen = Shared<[Seen]>([])
        let server = try await server(status: .conflict, seen)
        let base = try #require(URL(string: server.url))
        let client = try localized(APIClient(base: base, session: ApproovSession(service: nil)), language: "de")
        guard case .refused(status: 409) = try await delete(client.resource("items/7")) else { throw TestServerError("not refused") }
        #expect(seen.value == [Seen(line: "DELETE /items/7", language: "de")])
        await server.stop()
        guard case .tryLater = try await delete(client.resource("items/7")) else { throw TestServerError("not to be tried later") }
    }

    @Test("The article's pictures come from the cache the second time")
    func cachedPictures() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(headerFields: [.cacheControl: "max-age=600"], text: request.target)
        }
        let client = caching(try APIClient(base: try #require(URL(string: server.url)), session: ApproovSession(service: nil)))
        for isFromCache in [false, true] {
            let result = try await picture("a b", from: client)
            #expect(String(decoding: result.data, as: UTF8.self) == "/pictures/a%20b")
            #expect(result.isFromCache == isFromCache)
        }
        #expect(server.counters.requests == 1)
        await server.stop()
    }

    @Test("The article's order tells a 200 that is an error from one that is not")
    func envelope() async throws {
        let answers = Shared([#"{"ok": false, "code": 40, "message": "Sold out."}"#, #"{"item": "tea"}"#])
        let server = try await TestHTTPServer.start(certificate: nil) { _ in
            let text = answers.change { $0.removeFirst() }
            return TestResponse(headerFields: [.contentType: "application/json"], text: text)
        }
        let client = try APIClient(base: try #require(URL(string: server.url)), session: ApproovSession(service: nil))
        guard case .declined("40"?, "Sold out."?) = try await place(Order(item: "tea"), with: client) else {
            throw TestServerError("not declined")
        }
        guard case .ordered(let order) = try await place(Order(item: "tea"), with: client) else { throw TestServerError("not ordered") }
        #expect(order.item == "tea")
        await server.stop()
    }

    @Test("The article's upload sends both parts of the form")
    func upload() async throws {
        let bodies = Shared<[Data]>([])
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            let body = try await request.body.collect(upTo: 1 << 20)
            bodies.change { $0.append(Data(body)) }
            return TestResponse(text: request.target)
        }
        let folder = try TemporaryFolder()
        let photo = URL(filePath: try folder.write("a photo", to: "beach.jpg"))
        let client = try APIClient(base: try #require(URL(string: server.url)), session: ApproovSession(service: nil))
        let response = try await addPhoto(photo, titled: "Beach", to: "summer/2026", with: client)
        #expect(String(decoding: response.data, as: UTF8.self) == "/albums/summer%2F2026")
        let text = String(decoding: bodies.value.first ?? Data(), as: UTF8.self)
        #expect(text.contains("a photo") && text.contains("Beach") && text.contains("filename=\"photo.jpg\""))
        await server.stop()
    }

    @Test("The article's video is sent with progress")
    func sentVideo() async throws {
        let stored = Shared<[UInt8]>([])
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            guard request.method == .put, request.headerFields[.authorization] == "Bearer user" else { return TestResponse(.unauthorized) }
            stored.value = try await request.body.collect(upTo: 1 << 20)
            return TestResponse(.noContent)
        }
        let folder = try TemporaryFolder()
        let file = URL(filePath: try folder.write("a long video", to: "video.mp4"))
        var client = try APIClient(base: try #require(URL(string: server.url)), session: ApproovSession(service: nil))
        client.headers = ["Authorization": "Bearer user"]
        let sent = Shared(0)
        try await replaceVideo("1", with: file, on: client) { sent.value = $0 }
        #expect(stored.value == Array("a long video".utf8) && sent.value == 12)
        await server.stop()
    }

    @Test("The article's download is resumed when it broke off, and an error is no video")
    func resumedVideo() async throws {
        let content = Array("a long video".utf8)
        let transport = InProcessTransport { request in
            let fields: HTTPFields = [.eTag: "\"1\"", .acceptRanges: "bytes"]
            guard request.url.target == "/videos/1", request.headerFields[.authorization] == "Bearer user" else {
                return TransportResponse(status: 404, url: request.url, body: ResponseBody(bytes: Array("an error".utf8)))
            }
            if request.headerFields[.range] == "bytes=7-" {
                var rest = fields
                rest[.contentRange] = "bytes 7-11/12"
                return TransportResponse(status: 206, headerFields: rest, url: request.url, body: ResponseBody(bytes: Array(content[7...])))
            }
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(Array(content[..<7]))
                continuation.finish(throwing: TransportError(.connectionLost, "gone"))
            }
            var whole = fields
            whole[.contentLength] = "12"
            return TransportResponse(status: 200, headerFields: whole, url: request.url, body: ResponseBody(parts))
        }
        var client = try APIClient(
            base: try #require(URL(string: "https://api.test")), session: ApproovSession(service: nil, configuration: .over(transport)))
        client.headers = ["Authorization": "Bearer user"]
        let tokens = Shared<[ResumeToken]>([])
        let note: @Sendable (ResumeToken) -> Void = { token in tokens.change { $0.append(token) } }
        await #expect(throws: ApproovError.self) { try await video("1", from: client, resuming: nil, onToken: note) }
        let token: ResumeToken = try #require(tokens.value.last)
        #expect(token.offset == 7)
        let copy = try await video("1", from: client, resuming: token, onToken: note)
        defer { try? FileManager.default.removeItem(at: copy) }
        #expect(try Data(contentsOf: copy) == Data("a long video".utf8))
        let error = await #expect(throws: APIError.self) { try await video("2", from: client, resuming: nil, onToken: note) }
        #expect(error?.response?.head.statusCode == 404 && error?.response?.data == Data("an error".utf8))
    }

    @Test("The article's headlines are the data of server-sent events")
    func news() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            guard request.headerFields[.accept] == "text/event-stream" else { return TestResponse(.notAcceptable) }
            return TestResponse(
                headerFields: [.contentType: "text/event-stream"], body: Array("data: one\n\ndata: two\ndata: lines\n\n".utf8))
        }
        let client = try APIClient(base: try #require(URL(string: server.url)), session: ApproovSession(service: nil))
        var shown: [String] = []
        try await headlines(from: client) { shown.append($0) }
        #expect(shown == ["one", "two\nlines"])
        await server.stop()
    }

    @Test("The article's session asks for the user of each environment, and calls below its base URL")
    func environments() async throws {
        let folder = try TemporaryFolder()
        let holder = try CredentialHolder("Bearer alice")
        let names = Shared<[String]>([])
        let local = try APIEnvironment(
            "local", baseURL: try #require(URL(string: "https://api.localhost:9443/")), source: .local(recordings: NameUse.sampleRecording),
            trust: .pathValidation)
        let api = try session(for: local, stateDirectory: folder.url) { environment in
            names.change { $0.append(environment.name) }
            return holder
        }
        #expect(try await !api.client.resource("notes").send(.get).data.isEmpty)
        let other = try #require(URL(string: "https://other.test/v1/"))
        try api.use(APIEnvironment("other", baseURL: other, source: .remote(configuration: nil), trust: .pathValidation))
        #expect(names.value == ["local", "other"] && api.client.baseURL == other)
    }
}
