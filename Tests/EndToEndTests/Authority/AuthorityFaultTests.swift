import Approov
import ApproovAuthority
import ApproovTesting
import Foundation
import TestTags
import Testing

/// Protected requests while the authority fails.
@Suite("A faulty authority", .tags(.sockets), .timeLimit(.minutes(5)))
struct AuthorityFaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let script: @Sendable (RawConnection) async throws -> Void

        init(_ name: String, script: @escaping @Sendable (RawConnection) async throws -> Void) {
            testDescription = name
            self.script = script
        }

        /// A fault that answers every request with these bytes.
        static func answering(_ name: String, _ status: String, _ head: String, body: [UInt8] = []) -> Fault {
            Fault(name) { connection in
                _ = try await connection.receiveRequest()
                try await connection.send("HTTP/1.1 \(status)\r\n\(head)Connection: close\r\n\r\n")
                try await connection.send(body)
            }
        }
    }

    static let faults: [Fault] = [
        .answering("500", "500 Internal Server Error", "Content-Length: 0\r\n"),
        .answering("429 with Retry-After", "429 Too Many Requests", "Retry-After: 1\r\nContent-Length: 0\r\n"),
        .answering("half a body", "200 OK", "Content-Type: application/json\r\nContent-Length: 100\r\n", body: Array(#"{"chall"#.utf8)),
        .answering(
            "10 MB", "200 OK", "Content-Type: application/json\r\nContent-Length: 10485760\r\n",
            body: [UInt8](repeating: UInt8(ascii: " "), count: 10 << 20)),
        .answering("the wrong type", "200 OK", "Content-Type: text/html\r\nContent-Length: 2\r\n", body: Array("{}".utf8)),
        .answering("malformed JSON", "200 OK", "Content-Type: application/json\r\nContent-Length: 4\r\n", body: [0x7b, 0, 0xff, 0x7d]),
        Fault("garbage instead of HTTP") { connection in
            _ = try await connection.receiveRequest()
            try await connection.send((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        },
        Fault("very slow") { connection in
            _ = try await connection.receiveRequest()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
            try await connection.drip([UInt8](repeating: UInt8(ascii: " "), count: 1_000), pause: .milliseconds(50))
        },
        Fault("silence") { await $0.waitForClose() },
        // Not a reset: it may arrive before the client knows that it is connected, and then counts as an authority that was not reached.
        Fault("an abort in TLS") { try await $0.cut() },
    ]

    @Test(
        "Fifty concurrent requests make one connection to a failing authority, fail retryably, and later work again",
        arguments: faults)
    func fails(_ fault: Fault) async throws {
        try await LoopbackWorld.with { world in
            try await AuthorityFront.with(world) { front in
                front.behavior = .fault(fault.script)
                // The time stands still, so that late callers are still within the pause after the failure.
                let clock = ManualClock(date: Date())
                let app = try await world.app { options in
                    options.front = front
                    options.clock = clock
                    // Ends the silence and the very slow answer; long enough for the exchange that must succeed on a slow machine.
                    options.limits.exchangeTimeout = .seconds(10)
                }
                let url = try world.url("/shapes")
                try await withThrowingTaskGroup { group in
                    for _ in 0..<50 { group.addTask { try await app.failure(of: url, authorization: "Bearer the-secret") } }
                    for try await error in group {
                        #expect(error.isRetryable, "\(error)")
                        #expect(!error.description.contains("the-secret"))
                    }
                }
                #expect(front.connections == 1)
                #expect(world.api.counters.connections == 0)

                front.behavior = .forward
                clock.advance(by: .seconds(60))
                #expect(try await app.get(url).status == 200)
            }
        }
    }

    @Test("Without a running authority, a request fails with a retryable error and does not reach the API")
    func gone() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            await world.authority.stop(removingStore: false)
            let error = try await app.failure(of: world.url("/shapes"))
            #expect(error.isRetryable)
            #expect(world.api.counters.connections == 0)
        }
    }

    @Test("An app never requests a token from a server with another key in the authority's place")
    func impostor() async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await RawServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: world.root)) {
                await $0.waitForClose()
            }
            try await AuthorityFront.with(world) { front in
                let initial = try await world.authority.store.initialConfiguration(
                    authority: URL(string: "https://localhost:\(impostor.port)"), authorityPins: front.pins, trustRoots: world.root.pem)
                let service = try ApproovService(
                    configuration: ApproovConfiguration(initial), stateDirectory: world.folder.file("deceived"))
                let result = await service.fetchToken(for: try world.url("/shapes"), binding: "Bearer alice")
                #expect(result.status == .mitmDetected)
                #expect(impostor.receivedCount == 0)
                #expect(impostor.counters.connections > 0)
            }
            await impostor.stop()
        }
    }
}
