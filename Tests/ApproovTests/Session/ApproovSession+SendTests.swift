import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.40
@Suite(.tags(.sockets)) struct ApproovSessionSendTests {
    /// Answers with the request's method, target, Content-Length and body.
    private static func echo(_ versions: TestHTTPServer.Versions) async throws -> Site {
        try await Site.start(versions: versions) { request in
            let length = request.headerFields[.contentLength] ?? "-"
            let lines = request.headerFields[values: HTTPField.Name("X-Line") ?? .accept].joined(separator: "|")
            let head = "\(request.method) \(request.target) \(length) \(lines)\n"
            return TestResponse(
                .accepted, headerFields: [.setCookie: "a=1", .contentType: "text/plain"],
                body: Array(head.utf8) + (try await request.body.collect()))
        }
    }

    private static func stream(_ count: Int, length: Int?) -> RequestBody {
        .stream(
            length: length,
            RequestBodyStream(
                AsyncStream<[UInt8]> { feed in
                    for _ in 0..<count { feed.yield([UInt8](repeating: 7, count: 1_000)) }
                    feed.finish()
                }))
    }

    @Test("The binding is computed from the body that is sent; an interceptor sees neither that nor the request's own")
    func shownBody() async throws {
        struct Noting: RequestInterceptor {
            let seen = Shared<[Data?]>([])
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                seen.change { $0.append(request.httpBodyStream == nil ? request.httpBody : Data("stream".utf8)) }
                return request
            }
        }
        let world = try World()
        let noting = Noting()
        let session = try world.configured {
            $0.binding = { String(decoding: $0.httpBody ?? Data("none".utf8), as: UTF8.self) }
            $0.interceptors = [noting]
        }
        let own = URLRequest("https://api.test/", method: "PUT", body: "own")
        var streamed = URLRequest("https://api.test/", method: "PUT")
        streamed.httpBodyStream = InputStream(data: Data("own".utf8))
        for request in [own, streamed] {
            _ = try await session.upload(for: request, from: Data("sent".utf8))
            _ = try await session.upload(for: request, body: .bytes(Array("sent".utf8)))
            _ = try await session.upload(for: request, body: Self.stream(1, length: nil))
        }
        _ = try await session.data(for: own)
        let sent = try world.apiRequests.map { try pay(ofToken: try #require($0.headerFields[.approovToken])) }
        let expected = ["sent", "sent", "none", "sent", "sent", "none", "own"]
        #expect(sent == expected.map { Binding.payHash(of: $0) })
        #expect(noting.seen.value == expected.map { $0 == "own" ? Data($0.utf8) : nil })
        let bodies = world.apiRequests.map {
            if case .bytes(let bytes) = $0.body { String(decoding: bytes, as: UTF8.self) } else { "none" }
        }
        #expect(bodies == expected)
    }

    @Test("A stream of known length is uploaded with that length", arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func upload(versions: TestHTTPServer.Versions) async throws {
        let site = try await Self.echo(versions)
        let session = try site.session()
        var request = URLRequest(url: site.url("/in"))
        request.httpMethod = "PUT"
        request.httpBody = Data("ignored".utf8)
        let told = Shared<[TransferProgress]>([])
        let (data, response) = try await session.upload(for: request, body: Self.stream(500, length: 500_000)) { progress in
            told.change { $0.append(progress) }
        }
        #expect(response.statusCode == 202)
        #expect(data == Data("PUT /in 500000 \n".utf8) + Data(repeating: 7, count: 500_000))
        #expect(told.value.last == TransferProgress(completed: 500_000, total: 500_000))
        let (empty, _) = try await session.upload(for: request, body: .none)
        #expect(empty == Data("PUT /in 0 \n".utf8))
        let (unknown, _) = try await session.upload(for: request, body: Self.stream(3, length: nil))
        #expect(unknown == Data("PUT /in - \n".utf8) + Data(repeating: 7, count: 3_000))
        await site.stop()
    }

    @Test("A stream that does not have its declared length, or was read before, fails the upload")
    func badStreams() async throws {
        let site = try await Self.echo(.http1)
        let session = try site.session()
        let request = URLRequest(site.url().absoluteString, method: "POST")
        for length in [2_999, 3_001] {
            await #expect(throws: ApproovError(.bodyFailed, "")) {
                try await session.upload(for: request, body: Self.stream(3, length: length))
            }
        }
        let body = Self.stream(3, length: 3_000)
        _ = try await session.upload(for: request, body: body)
        await #expect(throws: ApproovError(.bodyFailed, "")) { try await session.upload(for: request, body: body) }
        await #expect(throws: ApproovError(.responseTooLarge, "")) {
            try await session.upload(for: request, body: Self.stream(3, length: 3_000), limit: 3_000)
        }
        await site.stop()
    }

    @Test("A request of swift-http-types is sent, and its response's body can be read as it arrives or as a whole")
    func send() async throws {
        let site = try await Self.echo(.http1AndHTTP2)
        let session = try site.session()
        let line = try #require(HTTPField.Name("X-Line"))
        var request = HTTPRequest(method: .put, scheme: "https", authority: "localhost:\(site.server.port)", path: "/a%20b?c=d")
        request.headerFields.append(HTTPField(name: line, value: "one"))
        request.headerFields.append(HTTPField(name: line, value: "two"))
        let (response, body) = try await session.send(request, body: Self.stream(2, length: 2_000))
        #expect(response.status == .accepted)
        #expect(response.headerFields[.contentType] == "text/plain")
        #expect(response.headerFields[.setCookie] == "a=1")
        #expect(try await body.data(upTo: 5_000) == Data("PUT /a%20b?c=d 2000 one, two\n".utf8) + Data(repeating: 7, count: 2_000))
        request.method = .get
        let (_, second) = try await session.send(request)
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await second.data(upTo: 3) }
        await site.stop()
    }

    @Test(
        "A request of swift-http-types without a usable URL is refused before anything is sent",
        arguments: [
            (nil, "api.test", "/"), ("https", nil, "/"), ("https", "api.test", nil), ("https", "api.test", "*"), ("https", "api.test", ""),
            ("https", "api.test", "@evil.test/"), ("https", "api.test", ".evil.test/"), ("https", "evil.test/", "/"),
            ("https", "evil.test?", "/"), ("https", "evil.test#", "/"), ("https", "user@api.test", "/"), ("https", "", "/"),
            ("https", "api.test", "/#part"), ("https", "api.test", "/a b"), ("https", "evil.test\\", "/"),
        ] as [(String?, String?, String?)])
    func noURL(scheme: String?, authority: String?, path: String?) async throws {
        let world = try World()
        let session = try world.session()
        await #expect(throws: ApproovError(.badRequest, "")) {
            try await session.send(HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path))
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A request of swift-http-types that has its binding header twice is refused, and Cookie lines are joined by semicolons")
    func repeated() async throws {
        let world = try World()
        let session = try world.session(bindHeader: "Authorization")
        var request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/")
        request.headerFields.append(HTTPField(name: .cookie, value: "a=1"))
        request.headerFields.append(HTTPField(name: .cookie, value: "b=2"))
        request.headerFields.append(HTTPField(name: .authorization, value: "Bearer one"))
        _ = try await session.send(request)
        #expect(world.apiRequests.last?.headerFields[values: .cookie] == ["a=1; b=2"])
        request.headerFields.append(HTTPField(name: .authorization, value: "Bearer two"))
        let (error, count) = (ApproovError(.bindingAmbiguous, ""), world.apiRequests.count)
        await #expect(throws: error) { try await session.send(request) }
        #expect(world.apiRequests.count == count)
    }

    @Test("A stream reaches a protocol class of the wrapped session as a whole")
    func wrapped() async throws {
        let world = try World(hosts: [:])
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [EchoProtocol.self]
        let session = try world.session(configuration: configuration)
        let (data, _) = try await session.upload(
            for: URLRequest("https://mock.test/", method: "POST"), body: Self.stream(3, length: 3_000))
        #expect(data == Data(repeating: 7, count: 3_000))
        let (response, body) = try await session.send(
            HTTPRequest(method: .post, scheme: "https", authority: "mock.test", path: "/"), body: Self.stream(2, length: 2_000))
        #expect(response.status == .ok)
        #expect(try await body.data(upTo: 2_000) == Data(repeating: 7, count: 2_000))
    }
}

/// A mock that returns the request's body.
private final class EchoProtocol: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host() == "mock.test" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {
        guard let url = request.url, let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil) else {
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: request.httpBody ?? Data())
        client?.urlProtocolDidFinishLoading(self)
    }
    override func stopLoading() {}
}
