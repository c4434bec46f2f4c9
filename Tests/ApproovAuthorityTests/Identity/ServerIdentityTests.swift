import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct ServerIdentityTests {
    private let now = Date(timeIntervalSince1970: 1_750_000_000)

    private func validates(_ identity: ServerIdentity, host: String, at time: Date, pins: [String]) throws -> Bool {
        let rule = TrustRule(
            evaluators: [try PublicKeysTrustEvaluator(withoutBackup: Set(pins.map { try Pin($0) }))],
            anchors: try TrustAnchors(pem: identity.rootPEM))
        let result = ChainValidator.evaluate(
            chain: [try Certificate(pem: identity.certificatePEM)], host: try CanonicalHost(host), rule: rule,
            defaultAnchors: try TrustAnchors(pem: identity.rootPEM), time: time)
        if case .success = result { return true }
        return false
    }

    @Test(
        "the certificate is good under its root for its names and loopback, with the server's pin",
        arguments: [
            "authority.example.com", "localhost", "127.0.0.1", "::1", "192.0.2.7",
        ])
    func valid(host: String) throws {
        let identity = try ServerIdentity.make(hosts: ["authority.example.com", "192.0.2.7"], now: now)
        #expect(try validates(identity, host: host, at: now, pins: [identity.pins[0]]))
        #expect(try !validates(identity, host: host, at: now, pins: [identity.pins[1]]))
        #expect(try !validates(identity, host: "other.example.com", at: now, pins: identity.pins))
        #expect(Set(identity.pins).count == 2)
    }

    @Test("a renewed certificate keeps key, root and pins")
    func renewed() throws {
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: now)
        let later = now.addingTimeInterval(300 * 86_400)
        #expect(!identity.needsRenewal(hosts: ["a.example.com"], now: now))
        #expect(identity.needsRenewal(hosts: ["b.example.com"], now: now))
        #expect(identity.needsRenewal(hosts: ["a.example.com"], now: later))
        let renewed = try identity.renewed(hosts: ["b.example.com"], now: later)
        #expect(renewed.pins == identity.pins)
        #expect(renewed.keyPEM == identity.keyPEM)
        #expect(renewed.rootPEM == identity.rootPEM)
        #expect(renewed.certificatePEM != identity.certificatePEM)
        #expect(try validates(renewed, host: "a.example.com", at: later, pins: identity.pins))
        #expect(try validates(renewed, host: "b.example.com", at: later, pins: identity.pins))
    }

    @Test("a rotated identity serves with the former backup key under the same root, and has a new backup")
    func rotated() throws {
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: now)
        let rotated = try identity.rotated(now: now)
        #expect(rotated.pins[0] == identity.pins[1])
        #expect(!identity.pins.contains(rotated.pins[1]))
        #expect(rotated.rootPEM == identity.rootPEM)
        #expect(try validates(rotated, host: "a.example.com", at: now, pins: [identity.pins[1]]))
    }

    @Test("a store keeps its identity, and renews the certificate when half of its life is over")
    func stored() async throws {
        let account = try await TestAccount()
        let first = try await account.store.serverIdentity(hosts: ["a.example.com"])
        let reopened = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(try await reopened.serverIdentity(hosts: ["a.example.com"]).certificatePEM == first.certificatePEM)
        account.clock.advance(by: .seconds(200 * 86_400))
        let second = try await reopened.serverIdentity(hosts: ["a.example.com"])
        #expect(second.certificatePEM != first.certificatePEM)
        #expect(second.pins == first.pins)
    }

    @Test("a key or a name that cannot be read is an error")
    func refused() async throws {
        let good = try ServerIdentity.make(hosts: [], now: now)
        await refuses(.identityFailed) {
            _ = try ServerIdentity.make(
                rootPEM: nil, rootKeyPEM: "nonsense", keyPEM: good.keyPEM, backupKeyPEM: good.backupKeyPEM, hosts: [], now: now)
        }
        await refuses(.identityFailed) {
            _ = try ServerIdentity.make(
                rootPEM: good.certificatePEM.replacing("BEGIN", with: "BEGUN"), rootKeyPEM: good.rootKeyPEM, keyPEM: good.keyPEM,
                backupKeyPEM: good.backupKeyPEM, hosts: [], now: now)
        }
        await refuses(.identityFailed) { _ = try ServerIdentity.make(hosts: ["über.example"], now: now) }
    }
}
