import Approov
import CertificatePinning
import ApproovTesting
import Foundation
import FoundationNetworking
import Testing

/// Protected calls through a proxy that the caller configured.
@Suite("A configured proxy", .timeLimit(.minutes(4)))
struct ProxyTests {
    private func wrapping(proxy port: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = ["HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": port]
        return configuration
    }

    @Test("it is used, and what it sees of a call is the host (C11)")
    func tunnel() async throws {
        try await World.with { world in
            let heads = Shared<[String]>([])
            let proxy = try await ConnectProxy.start(to: world.api.port, heads: heads)
            let app = try await world.app { $0.wrapping = wrapping(proxy: proxy.port) }
            let answer = try await app.get(world.url("/shapes"))
            #expect(answer.status == 200)
            let head = try #require(heads.value.first)
            #expect(head.hasPrefix("CONNECT \(World.apiHost):\(world.api.port) HTTP/1.1\r\n"))
            #expect(!head.lowercased().contains("approov"))
            #expect(!head.lowercased().contains("authorization"))
            #expect(!head.contains("alice"))
            // What follows is TLS: neither token nor path can be read.
            let seen = proxy.received
            for secret in [answer.text, "Bearer alice", "/shapes"] {
                #expect(seen.firstRange(of: Array(secret.utf8)) == nil)
            }
            await proxy.stop()
        }
    }

    @Test("one that ends tunnels at a server of its own, with a certificate below the trusted root, is refused by the pins")
    func interception() async throws {
        try await World.with { world in
            let heads = Shared<[String]>([])
            let impostor = try await world.impostor()
            let proxy = try await ConnectProxy.start(to: impostor.port, heads: heads)
            let app = try await world.app { $0.wrapping = wrapping(proxy: proxy.port) }
            #expect(try await app.failure(of: world.url("/shapes")).refusal?.reason == .pinMismatch)
            #expect(impostor.counters.connections > 0)
            #expect(impostor.receivedCount == 0)
            #expect(heads.value.allSatisfy { !$0.lowercased().contains("approov") })
            #expect(world.api.counters.requests == 0)
            await proxy.stop()
            await impostor.stop()
        }
    }
}
