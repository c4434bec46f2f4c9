import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.40
/// Streams, downloads, progress, and requests for the session, on a real server.
@Suite("Transfers of a resource", .tags(.sockets), .timeLimit(.minutes(5)))
struct ResourceTransfersTests {
    /// Lends a client with a rule and a header, whose server answers with the method, these fields and the content it got.
    private func with(_ work: (APIClient) async throws -> Void) async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            let fields = ["X-Client", "X-Kind", "X-Own"].compactMap { HTTPField.Name($0) }.map { request.headerFields[$0] ?? "-" }
            let content = try await request.body.collect()
            let text = ([request.method.rawValue, request.target] + fields + ["\(content.count)"]).joined(separator: " ")
            return TestResponse(request.path == "/v1/missing" ? .notFound : .ok, headerFields: [:], body: Array(text.utf8))
        }
        let base = try #require(URL(string: server.url + "/v1"))
        var client = try APIClient(base: base, session: try ApproovSession(service: nil)).configured { rules in
            try rules.configure("**", description: "kind") { $0.headers["X-Kind"] = "rule" }
            try rules.configure("expected", description: "expected") { $0.statuses = 404..<405 }
        }
        client.headers = ["X-Client": "client"]
        try await work(client)
        await server.stop()
    }

    @Test("A stream has the client's settings, any method and content")
    func bytes() async throws {
        try await with { client in
            let resource = try client.resource("stream")
            let (bytes, head) = try await resource.bytes(query: ["a": 1], headers: ["X-Own": "own"])
            #expect(head.statusCode == 200)
            #expect(try await bytes.data(upTo: 100) == Data("GET /v1/stream?a=1 client rule own 0".utf8))
            let (answer, _) = try await resource.bytes(.post, body: RawBody(.bytes([1, 2, 3])))
            var lines: [String] = []
            for try await line in answer.lines { lines.append(line) }
            #expect(lines == ["POST /v1/stream client rule - 3"])
        }
    }

    @Test("A download has the client's settings, and reports its progress")
    func download() async throws {
        try await with { client in
            let received = Shared(0)
            let (file, head) = try await client.resource("file").download(headers: ["X-Own": "own"]) { progress in
                received.value = progress.completed
            }
            defer { try? FileManager.default.removeItem(at: file) }
            let text = "GET /v1/file client rule own 0"
            #expect(head.statusCode == 200 && received.value == text.utf8.count)
            #expect(try Data(contentsOf: file) == Data(text.utf8))
        }
    }

    @Test("A stream and a download with another status are refused, with the response")
    func refused() async throws {
        try await with { client in
            var client = client
            let text = "GET /v1/missing client rule - 0"
            for work in [
                { try await $0.bytes() } as (Resource) async throws -> Any, { try await $0.download() },
                { try await $0.download(resuming: nil) { _ in } },
            ] {
                let error = await #expect(throws: APIError.self) { _ = try await work(client.resource("missing")) }
                #expect(error?.code == .unexpectedStatus && error?.response?.head.statusCode == 404)
                #expect(error?.response?.data == Data(text.utf8))
                client.maximumBytes = 3
                let cut = await #expect(throws: APIError.self) { _ = try await work(client.resource("missing")) }
                #expect(cut?.response?.data == Data("GET".utf8))
                client.maximumBytes = -1
                let empty = await #expect(throws: APIError.self) { _ = try await work(client.resource("missing")) }
                #expect(empty?.response?.head.statusCode == 404 && empty?.response?.data.isEmpty == true)
                client.maximumBytes = 100
            }
            client.statuses = 404..<405
            let (file, head) = try await client.resource("missing").download()
            #expect(head.statusCode == 404)
            try FileManager.default.removeItem(at: file)
        }
    }

    @Test("A download of more bytes than its limit fails, although the server has not finished, and leaves no file")
    func limitedDownload() async throws {
        let count = Shared(0)
        let transport = InProcessTransport { request in
            guard request.url.target == "/endless" else {
                return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: [1, 2, 3]))
            }
            let parts = AsyncThrowingStream<[UInt8], any Error> {
                count.value += 1
                // Ends at 100 MB, so that a test that fails does not fill the disk.
                return count.value <= 10_000 ? [UInt8](repeating: 1, count: 10_000) : nil
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        let client = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        let endless = try client.resource("endless")
        /// The files of downloads; other tests make some at the same time, but of other sizes.
        func files() throws -> Set<String> {
            let names = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
            return Set(
                names.filter { name in
                    let values = try? FileManager.default.attributesOfItem(atPath: NSTemporaryDirectory() + "/" + name)
                    return name.hasPrefix("approov-download-") && (values?[.size] as? NSNumber)?.intValue == 54_322
                })
        }
        let before = try files()
        for limit in [54_321, 0, -1] {
            let error = await #expect(throws: ApproovError.self) { _ = try await endless.download(upTo: limit) }
            #expect(error?.code == .responseTooLarge)
        }
        #expect(count.value <= 20)
        #expect(try files().subtracting(before).isEmpty)
        let short = try client.resource("short")
        for limit in [3, 4, .max, nil] as [Int?] {
            let (file, _) = try await short.download(upTo: limit)
            #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
            try FileManager.default.removeItem(at: file)
        }
        let error = await #expect(throws: ApproovError.self) { _ = try await short.download(upTo: 2) }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("A new download that is answered with 416 has no content")
    func unsatisfiable() async throws {
        let session = try ApproovSession(service: nil, configuration: .over(InProcessTransport(status: 416)))
        let client = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        let error = await #expect(throws: APIError.self) { try await client.resource("file").download(resuming: nil) { _ in } }
        #expect(error?.code == .unexpectedStatus && error?.response?.head.statusCode == 416)
    }

    @Test(
        "A stream or a download with another status that has no end is refused with its beginning",
        arguments: ["stream", "download", "resuming"])
    func endless(kind: String) async throws {
        let count = Shared(0)
        let transport = InProcessTransport { request in
            let parts = AsyncThrowingStream<[UInt8], any Error> {
                count.value += 1
                // Ends at 100 MB, so that a test that fails does not fill the disk.
                return count.value <= 10_000 ? [UInt8](repeating: 1, count: 10_000) : nil
            }
            return TransportResponse(status: 503, url: request.url, body: ResponseBody(parts))
        }
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        var client = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        client.maximumBytes = 64 << 10
        let resource = try client.resource("news")
        let error = await #expect(throws: APIError.self) {
            switch kind {
            case "stream": _ = try await resource.bytes()
            case "download": _ = try await resource.download()
            default: _ = try await resource.download(resuming: nil) { _ in }
            }
        }
        #expect(error?.response?.head.statusCode == 503 && error?.response?.data.count == 64 << 10)
        #expect(count.value <= 10)
    }

    @Test("Events ask for their media type unless the request, the client or a rule asks for another, and any method can ask")
    func events() async throws {
        let transport = InProcessTransport { request in
            let accept = request.headerFields[.accept] ?? "-"
            let text = "id: 1\ndata: \(request.method) \(accept)\n\ndata: second\n\n"
            return TransportResponse(
                status: 200, headerFields: [.contentType: "Text/Event-Stream; charset=utf-8"], url: request.url,
                body: ResponseBody(bytes: Array(text.utf8)))
        }
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        let plain = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        var own = plain
        own.headers = ["accept": "text/client"]
        let ruled = try plain.configured { rules in
            try rules.configure("other", description: "other") { $0.headers["X"] = "1" }
            try rules.configure("news", description: "news") { $0.headers["Accept"] = "text/rule" }
        }
        for (client, path, headers, accept) in [
            (plain, "news", [:], "text/event-stream"), (plain, "news", ["ACCEPT": "text/own"], "text/own"),
            (own, "news", [:], "text/client"), (ruled, "news", [:], "text/rule"), (ruled, "other", [:], "text/event-stream"),
        ] {
            let (events, head) = try await client.resource(path).events(.post, body: RawBody(.bytes([1])), headers: headers)
            var all: [ServerSentEvent] = []
            for try await event in events { all.append(event) }
            #expect(head.statusCode == 200 && all.map(\.data) == ["POST \(accept)", "second"] && all.first?.id == "1")
        }
        let (events, _) = try await plain.resource("news").events(upTo: 10)
        await #expect(throws: ApproovError.self) { for try await _ in events {} }
    }

    @Test("A resource's own Accept wins over the session's, with rules and without", arguments: [false, true])
    func acceptOverSession(hasRules: Bool) async throws {
        let accepts = Shared<[String?]>([])
        let transport = InProcessTransport { request in
            accepts.change { $0.append(request.headerFields[.accept]) }
            let type = request.url.target == "/news" ? "text/event-stream" : "application/json"
            return TransportResponse(
                status: 200, headerFields: [.contentType: type], url: request.url, body: ResponseBody(bytes: Array("1".utf8)))
        }
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.httpAdditionalHeaders = ["Accept": "text/session"]
        let session = try ApproovSession(wrapping: URLSession(configuration: wrapped), service: nil, configuration: .over(transport))
        var client = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        if hasRules { try client.rules.configure("**", description: "other") { $0.headers["X-Other"] = "1" } }
        _ = try await client.resource("news").events()
        #expect(try await client.get("item", as: Int.self) == 1)
        // Here the resource asks for no media type.
        _ = try await client.resource("item").send(.get)
        client.headers = ["Accept": "text/client"]
        #expect(try await client.get("item", as: Int.self) == 1)
        #expect(accepts.value == ["text/event-stream", "application/json", "text/session", "text/client"])
    }

    @Test(
        "Events with another media type or status are refused, with the response",
        arguments: [
            (200, "text/html", APIError.Code.unexpectedMediaType) as (Int, String?, APIError.Code), (200, nil, .unexpectedMediaType),
            (204, nil, .unexpectedMediaType),
            (503, "text/event-stream", .unexpectedStatus),
        ])
    func refusedEvents(status: Int, type: String?, code: APIError.Code) async throws {
        let transport = InProcessTransport { request in
            TransportResponse(
                status: status, headerFields: type.map { [.contentType: $0] } ?? [:], url: request.url,
                body: ResponseBody(bytes: status == 204 ? [] : Array("data: secret".utf8)))
        }
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        let client = try APIClient(base: try #require(URL(string: "https://api.example.com/")), session: session)
        let error = await #expect(throws: APIError.self) { _ = try await client.resource("news").events() }
        #expect(error?.code == code && error?.response?.head.statusCode == status)
        #expect(error?.response?.data == Data(status == 204 ? "".utf8 : "data: secret".utf8))
        #expect(error.map { "\($0)" }?.contains("secret") == false)
    }

    @Test("A stream within a call of the same client does not send that call's Accept, and its rules run once")
    func withinACall() async throws {
        struct Nested: RequestInterceptor {
            let inner: APIClient
            let kind: String
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                if request.url?.path() == "/outer" {
                    if kind == "bytes" {
                        _ = try await inner.resource("inner").bytes()
                    } else {
                        let (file, _) = try await inner.resource("inner").download()
                        try FileManager.default.removeItem(at: file)
                    }
                }
                return request
            }
        }
        for kind in ["bytes", "download"] {
            let accepts = Shared<[String: String]>([:])
            let runs = Shared(0)
            let transport = InProcessTransport { request in
                accepts.change { $0[request.url.target] = request.headerFields[.accept] }
                return TransportResponse(
                    status: 200, headerFields: [.contentType: "application/json"], url: request.url,
                    body: ResponseBody(bytes: Array("1".utf8)))
            }
            let base = try #require(URL(string: "https://api.example.com/"))
            let inner = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport))).configured {
                rules in
                try rules.configure("inner", description: "counted") { _ in runs.change { $0 += 1 } }
            }
            var outer = inner
            outer.interceptors = [Nested(inner: inner, kind: kind)]
            #expect(try await outer.get("outer", as: Int.self) == 1)
            #expect(accepts.value == ["/outer": "application/json", "/inner": "*/*"], "\(kind)")
            #expect(runs.value == 1, "\(kind)")
        }
    }

    @Test("A stream that may change a resource removes what the cache has of it")
    func cached() async throws {
        let count = Shared(0)
        let transport = InProcessTransport { request in
            count.change { $0 += 1 }
            return TransportResponse(
                status: 200, headerFields: [.cacheControl: "max-age=60"], url: request.url, body: ResponseBody(bytes: Array("1".utf8)))
        }
        var client = try APIClient(
            base: try #require(URL(string: "https://api.example.com/")),
            session: ApproovSession(service: nil, configuration: .over(transport)))
        client.cache = DataCache()
        let resource = try client.resource("item")
        for _ in 0..<2 { _ = try await resource.cachedData() }
        #expect(count.value == 1)
        let (bytes, _) = try await resource.bytes(.post)
        _ = try await bytes.data(upTo: 1)
        #expect(try await resource.cachedData().isFromCache == false)
        #expect(count.value == 3)
    }

    @Test("Sending reports how much of the content is sent")
    func progress() async throws {
        try await with { client in
            let sent = Shared<[Int]>([])
            let resource = try client.resource("upload")
            let content = RawBody(.bytes([UInt8](repeating: 1, count: 300_000)), contentType: "image/png")
            let response = try await resource.send(.put, body: content) { progress in sent.change { $0.append(progress.completed) } }
            #expect(String(decoding: response.data, as: UTF8.self) == "PUT /v1/upload client rule - 300000")
            #expect(sent.value.last == 300_000 && sent.value == sent.value.sorted())
        }
    }

    @Test("A request for the session is the one that a resource sends, and the client's session applies its rules")
    func request() async throws {
        try await with { client in
            let resource = try client.resource("any")
            let (request, body) = try resource.request(
                .put, query: ["a": 1], body: RawBody(.bytes([1]), contentType: "image/png"), headers: ["X-Own": "own"])
            #expect(request.url?.absoluteString == resource.url.absoluteString + "?a=1" && request.httpMethod == "PUT")
            #expect(request.value(forHTTPHeaderField: "Content-Type") == "image/png")
            let (data, _) = try await client.connectedSession().upload(for: request, body: body)
            #expect(String(decoding: data, as: UTF8.self) == "PUT /v1/any?a=1 client rule own 1")
        }
    }

    @Test("A typed request that has its own headers has the client's settings for JSON")
    func typed() async throws {
        struct Item: Codable, Equatable { let date: Date }
        let accepts = Shared<[String?]>([])
        let transport = InProcessTransport { request in
            accepts.change { $0.append(request.headerFields[.accept]) }
            return TransportResponse(
                status: 418, headerFields: [.contentType: "application/json"], url: request.url,
                body: ResponseBody(bytes: Array("{\"date\": \"2026-01-01T00:00:00Z\"}".utf8)))
        }
        let base = try #require(URL(string: "https://api.example.com/"))
        var client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport)))
        client.statuses = 418..<419
        client.decoder = {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
        let resource = try client.resource("item")
        let item = Item(date: Date(timeIntervalSince1970: 1_767_225_600))
        #expect(try await resource.send(.put, body: JSONBody([1]), headers: ["If-Match": "\"1\""], as: Item.self) == item)
        #expect(try await resource.send(.get, headers: ["accept": "application/vnd.item+json"], as: Item.self) == item)
        #expect(accepts.value == ["application/json", "application/vnd.item+json"])
    }

    @Test("A request asks for the media types of its deserializer, unless it has its own header or the deserializer names none")
    func deserializers() async throws {
        struct Status: ResponseDeserializer {
            func value(of response: APIResponse) throws -> Int { response.head.statusCode }
        }
        let accepts = Shared<[String?]>([])
        let transport = InProcessTransport { request in
            accepts.change { $0.append(request.headerFields[.accept]) }
            let (type, text) = request.url.target == "/xml" ? ("text/xml", "<a/>") : ("application/json", "1")
            return TransportResponse(
                status: 200, headerFields: [.contentType: type], url: request.url, body: ResponseBody(bytes: Array(text.utf8)))
        }
        let base = try #require(URL(string: "https://api.example.com/"))
        let client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport)))
        let (xml, json) = (try client.resource("xml"), try client.resource("json"))
        _ = try await xml.send(.get, with: XMLResponse())
        _ = try await xml.send(.get, with: XMLResponse(mediaTypes: ["text/xml"]))
        _ = try await xml.send(.get, headers: ["accept": "application/soap+xml"], with: XMLResponse())
        #expect(try await json.send(.get, with: JSONResponse(Int.self)) == 1)
        #expect(try await json.send(.get, with: Status()) == 200)
        #expect(
            accepts.value == ["application/xml, text/xml", "text/xml", "application/soap+xml", "application/json", "*/*"])
        #expect(JSONResponse(Int.self, mediaTypes: ["application/vnd.item+json"]).accept == nil)
        #expect(XMLResponse(mediaTypes: ["application/*+xml"]).accept == nil)
    }

    @Test("The verbs without a result ignore the content, and check the status")
    func verbs() async throws {
        let seen = Shared<[String]>([])
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            let content = String(decoding: try await request.body.collect(), as: UTF8.self)
            seen.change { $0.append("\(request.method.rawValue) \(request.target) \(content)") }
            return TestResponse(request.path == "/missing" ? .notFound : .noContent)
        }
        let client = try APIClient(base: try #require(URL(string: server.url)), session: try ApproovSession(service: nil))
        let body = RawBody(.bytes(Array("x".utf8)))
        try await client.post("a", body: body)
        try await client.post("a", parameters: ["b": 1])
        try await client.put("a", query: ["q": 1], body: body)
        try await client.put("a", parameters: ["b": 1])
        try await client.patch("a", body: nil)
        try await client.patch("a", parameters: ["b": 1])
        try await client.delete("a", query: ["q": 1])
        #expect(
            seen.value == [
                "POST /a x", "POST /a {\"b\":1}", "PUT /a?q=1 x", "PUT /a {\"b\":1}", "PATCH /a ", "PATCH /a {\"b\":1}", "DELETE /a?q=1 ",
            ])
        var other = client
        other.parameterEncoding = .query
        try await other.resource("a").post(parameters: ["b": 1])
        #expect(seen.value.last == "POST /a?b=1 ")
        let error = await #expect(throws: APIError.self) { try await client.delete("missing") }
        #expect(error?.code == .unexpectedStatus)
        await server.stop()
    }
}
