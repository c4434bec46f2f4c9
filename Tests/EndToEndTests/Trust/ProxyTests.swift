import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import TestTags
import Testing

// Acceptance list: S2.69
/// Protected calls through a proxy that the caller configured.
@Suite("A configured proxy", .tags(.sockets), .timeLimit(.minutes(5)))
struct ProxyTests {
    private func wrapping(proxy port: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = ["HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": port]
        return configuration
    }

    @Test("The session uses its proxy, which sees only the host of a call")
    func tunnel() async throws {
        try await LoopbackWorld.with { world in
            let heads = Shared<[String]>([])
            let proxy = try await ConnectProxy.start(to: world.api.port, heads: heads)
            let app = try await world.app { $0.wrapping = wrapping(proxy: proxy.port) }
            let answer = try await app.get(world.url("/shapes"))
            #expect(answer.status == 200)
            #expect(heads.value.count == 1, "requests to the authority bypass the session's proxy")
            let head = try #require(heads.value.first)
            #expect(head.hasPrefix("CONNECT \(LoopbackWorld.apiHost):\(world.api.port) HTTP/1.1\r\n"))
            #expect(!head.lowercased().contains("approov"))
            #expect(!head.lowercased().contains("authorization"))
            #expect(!head.contains("alice"))
            // The rest is TLS: neither token nor path is readable.
            let seen = proxy.received
            for secret in [answer.text, "Bearer alice", "/shapes"] {
                #expect(seen.firstRange(of: Array(secret.utf8)) == nil)
            }
            await proxy.stop()
        }
    }

    @Test("The pins refuse a proxy that ends tunnels at its own server, with a certificate under the trusted root")
    func interception() async throws {
        try await LoopbackWorld.with { world in
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

    @Test("The session uses a SOCKS proxy, passes it the host by name, and never bypasses it")
    func socks() async throws {
        try await LoopbackWorld.with { world in
            let targets = Shared<[String]>([])
            let proxy = try await SOCKSProxy.start(to: world.api.port, targets: targets)
            let app = try await world.app {
                $0.wrapping.connectionProxyDictionary = ["SOCKSEnable": true, "SOCKSProxy": "127.0.0.1", "SOCKSPort": proxy.port]
            }
            let answer = try await app.get(world.url("/shapes"))
            #expect(answer.status == 200)
            #expect(targets.value == ["\(LoopbackWorld.apiHost):\(world.api.port)"])
            let seen = proxy.received
            for secret in [answer.text, "Bearer alice", "/shapes"] {
                #expect(seen.firstRange(of: Array(secret.utf8)) == nil)
            }
            await proxy.stop()
            // The session does not bypass it.
            #expect(try await app.failure(of: world.url("/shapes"), authorization: "Bearer bob").isRetryable)
            #expect(world.api.counters.requests == 1)
        }
    }

    @Test("The service's HTTP or SOCKS proxy carries only requests to the authority, and is never bypassed", arguments: [true, false])
    func authority(isSOCKS: Bool) async throws {
        try await LoopbackWorld.with { world in
            let seen = Shared<[String]>([])
            let port = try #require(world.authority.url.port)
            let proxy =
                isSOCKS ? try await SOCKSProxy.start(to: port, targets: seen) : try await ConnectProxy.start(to: port, heads: seen)
            let configuration = ProxyConfiguration(
                kind: isSOCKS ? .socks5 : .http, host: try CanonicalHost("127.0.0.1"), port: proxy.port)
            let app = try await world.app { $0.authorityProxy = configuration }
            #expect(try await app.get(world.url("/shapes")).status == 200)
            #expect(!seen.value.isEmpty)
            let target = "localhost:\(port)"
            #expect(seen.value.allSatisfy { isSOCKS ? $0 == target : $0.hasPrefix("CONNECT \(target) HTTP/1.1\r\n") }, "\(seen.value)")
            #expect(proxy.received.firstRange(of: Array("/v1/".utf8)) == nil)

            await proxy.stop()
            let error = try await app.failure(of: world.url("/shapes"), authorization: "Bearer bob")
            #expect(error.isRetryable)
            #expect(world.api.counters.requests == 1)
        }
    }

    @Test("The authority's pins refuse a proxy of the service that ends tunnels at its own server")
    func interceptedAuthority() async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await RawServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: world.root)) {
                await $0.waitForClose()
            }
            let proxy = try await ConnectProxy.start(to: impostor.port, heads: Shared([]))
            let app = try await world.app {
                $0.authorityProxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("127.0.0.1"), port: proxy.port)
            }
            #expect(await app.service.fetchToken(for: try world.url("/shapes"), binding: "Bearer alice").status == .mitmDetected)
            #expect(impostor.counters.connections > 0)
            #expect(impostor.receivedCount == 0)
            await proxy.stop()
            await impostor.stop()
        }
    }
}
