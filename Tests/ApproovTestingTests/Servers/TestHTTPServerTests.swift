import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import TestTags
import Testing

@Suite("The test HTTP server", .tags(.sockets), .timeLimit(.minutes(5)))
struct TestHTTPServerTests {
    @Test("A request over plain HTTP reaches the handler and is counted")
    func plain() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(
                .created, text: "\(request.method) \(request.target) \(String(decoding: try await request.body.collect(), as: UTF8.self))")
        }
        var request = URLRequest(url: try #require(URL(string: server.url + "/a?b=c")))
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 201)
        #expect(String(decoding: data, as: UTF8.self) == "POST /a?b=c body")
        #expect(server.counters.connections == 1)
        #expect(server.counters.requests == 1)
        #expect(server.counters.handshakes == 0)
        await server.stop()
        #expect(server.counters.open == 0)
    }

    @Test("A client that does not trust the certificate never reaches the handler")
    func untrusted() async throws {
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: TestPKI.root())
        let server = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse() }
        await #expect(throws: URLError.self) {
            try await URLSession.shared.data(from: try #require(URL(string: server.url)))
        }
        #expect(server.counters.connections >= 1)
        #expect(server.counters.requests == 0)
        await server.stop()
    }

    @Test("A body sent in several pieces arrives complete")
    func pieces() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in
            TestResponse(length: nil) { $0 < 3 ? Array("piece \($0) ".utf8) : nil }
        }
        let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: server.url)))
        #expect(String(decoding: data, as: UTF8.self) == "piece 0 piece 1 piece 2 ")
        await server.stop()
    }

    @Test("Stopping does not wait for a handler that never answers")
    func stopping() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in
            try await waitForCancellation()
        }
        let url = try #require(URL(string: server.url))
        async let answer = URLSession.shared.data(from: url)
        try #require(await eventually { server.counters.requests == 1 })
        await server.stop(grace: .milliseconds(50))
        _ = try? await answer
    }
}
