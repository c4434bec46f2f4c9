import ApproovRelay
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// Clients that begin requests and do not continue them.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct SilentClientTests {
    private static func head(_ type: String, length: Int = 200) -> String {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\nContent-Length: \(length)\r\n\r\n"
    }

    private func gateway() async throws -> TestHTTPServer {
        try await TestHTTPServer.start(certificate: nil) { message in
            _ = try await message.body.collect()
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"])
        }
    }

    @Test(
        "A client that falls silent gets 408 and nothing is forwarded; within a chunked message it is disconnected",
        arguments: ["message/ohttp-req", "message/ohttp-chunked-req"], [0, 10])
    func silent(type: String, sent: Int) async throws {
        let gateway = try await gateway()
        try await RunningRelay.with(gateway: gateway.url, limits: .quick { $0.idleTimeout = .seconds(1) }) { (relay) async throws in
            let isWaitedFor = type == "message/ohttp-req" || sent == 0
            // On a busy machine the timeout may pass before the head arrives. Then there is no response, and the test tries again.
            let isAnswered = try await eventually {
                let client = try RawClient(port: relay.port)
                client.write(Self.head(type) + String(repeating: "a", count: sent))
                let answer = await client.readToEnd()
                #expect(answer.isClosed)
                return !isWaitedFor || answer.text.hasPrefix("HTTP/1.1 408 ")
            }
            #expect(isAnswered)
            if isWaitedFor { #expect(gateway.counters.connections == 0) }
        }
        await gateway.stop()
    }

    @Test("Requests that have sent only their heads do not count towards the limit of forwarded requests")
    func noPlace() async throws {
        let gateway = try await gateway()
        try await RunningRelay.with(gateway: gateway.url, limits: .quick { $0.requests = 4 }) { (relay) async throws in
            let clients = try (0..<8).map { _ in try RawClient(port: relay.port) }
            for client in clients { client.write(Self.head("message/ohttp-req")) }
            for _ in 0..<20 { #expect(try await relay.post().status == 200) }
            withExtendedLifetime(clients) {}
        }
        await gateway.stop()
    }

    @Test("An address over its share of places gets 429 until its requests end, and other addresses are served")
    func share() async throws {
        let gateway = try await gateway()
        try await RunningRelay.with(gateway: gateway.url, limits: .quick { $0.requestsPerClient = 2 }) { (relay) async throws in
            var clients: [RawClient] = []
            var refused: TransportResponse?
            // A request of this loop may take a place before a silent client does, which is then refused itself. So each turn adds a client.
            let isRefused = try await eventually {
                let client = try RawClient(port: relay.port)
                client.write(Self.head("message/ohttp-req"))
                clients.append(client)
                let answer = try await relay.send(.bytes([1]))
                if answer.status == 429 { refused = answer } else { #expect(answer.status == 200) }
                return refused != nil
            }
            #expect(isRefused && refused?.headerFields[.retryAfter] == "1")
            #expect(try await relay.send(.bytes([1]), from: "127.0.0.7").status == 200)
            clients = []
            #expect(try await eventually { try await relay.post().status == 200 })
            for _ in 0..<5 { #expect(try await relay.post().status == 200) }
        }
        await gateway.stop()
    }

    @Test("The relay begins to forward a large message before all of it has arrived")
    func beginning() async throws {
        let gateway = try await gateway()
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            let large = try RawClient(port: relay.port)
            large.write(Self.head("message/ohttp-req", length: 400_000) + String(repeating: "a", count: 200_000))
            try #require(await eventually { gateway.counters.requests == 1 })
            large.write(String(repeating: "a", count: 200_000))
            #expect(await large.readSome().map { String(decoding: $0, as: UTF8.self) }?.hasPrefix("HTTP/1.1 200 ") == true)
        }
        await gateway.stop()
    }
}
