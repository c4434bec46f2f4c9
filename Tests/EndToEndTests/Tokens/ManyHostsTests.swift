import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import TestTags
import Testing

/// A host rule that applies to many hosts.
@Suite("A host rule for many hosts", .tags(.sockets), .timeLimit(.minutes(5)))
struct ManyHostsTests {
    @Test(
        "Each host gets its own token, which its own backend accepts and the other host's rejects",
        arguments: [("*.shop.localhost", false), ("**.shop.localhost", false), ("shop.localhost", true)])
    func ownTokens(_ entry: String, _ includeSubdomains: Bool) async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.addHost(
                entry,
                settings: HostSettings(
                    pins: world.keys.prefix(2).map(\.pin.description), includeSubdomains: includeSubdomains, trustRoots: world.root.pem))
            let app = try await world.app()
            let hosts = ["cart.shop.localhost", "till.shop.localhost"]
            let (cart, till) = (try await world.backend(hosts[0]), try await world.backend(hosts[1]))
            do {
                for (host, own, sibling) in [(hosts[0], cart, till), (hosts[1], till, cart)] {
                    let answer = try await app.get(world.url("/shapes", host: host, port: own.port))
                    #expect(answer.status == 200)
                    #expect(try Token(answer.text).claims["aud"] as? String == host)
                    let elsewhere = try world.url("/shapes", host: host == hosts[0] ? hosts[1] : hosts[0], port: sibling.port)
                    #expect(try await world.plainStatus(elsewhere, token: answer.text, authorization: "Bearer alice") == 401)
                }
            } catch {
                await cart.stop()
                await till.stop()
                throw error
            }
            await cart.stop()
            await till.stop()
        }
    }
}
