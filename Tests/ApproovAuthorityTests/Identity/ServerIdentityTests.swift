import ApproovTesting
import Attestation
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
        "The certificate is valid under its root for its names and loopback only, and matches the server's pin",
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

    @Test("A renewed certificate keeps its key, root and pins, and covers the old and the new names")
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

    @Test("A rotated identity uses the former backup key under the same root, and has a new backup key")
    func rotated() throws {
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: now)
        let rotated = try identity.rotated(now: now)
        #expect(rotated.pins[0] == identity.pins[1])
        #expect(!identity.pins.contains(rotated.pins[1]))
        #expect(rotated.rootPEM == identity.rootPEM)
        #expect(try validates(rotated, host: "a.example.com", at: now, pins: [identity.pins[1]]))
    }

    @Test("A store keeps its identity, and renews the certificate when half of its lifetime is over")
    func stored() async throws {
        let account = try await AuthorityBench()
        let first = try await account.store.serverIdentity(hosts: ["a.example.com"])
        let reopened = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(try await reopened.serverIdentity(hosts: ["a.example.com"]).certificatePEM == first.certificatePEM)
        account.clock.advance(by: .seconds(200 * 86_400))
        let second = try await reopened.serverIdentity(hosts: ["a.example.com"])
        #expect(second.certificatePEM != first.certificatePEM)
        #expect(second.pins == first.pins)
    }

    @Test("A malformed key, root certificate or host name is an identityFailed error")
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

    @Test("Certificates from a clock that was ahead are renewed with the same keys if they are not valid yet", arguments: [2, 24 * 40])
    func clockWasAhead(hours: Int) throws {
        let ahead = now.addingTimeInterval(TimeInterval(hours) * 3_600)
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: ahead)
        // Certificates are backdated by more than two hours, so those from a clock two hours ahead are valid.
        let isOff = try !validates(identity, host: "a.example.com", at: now, pins: identity.pins)
        #expect(isOff == (hours > 24))
        #expect(identity.needsRenewal(hosts: ["a.example.com"], now: now) == isOff)
        let renewed = try identity.renewed(hosts: [], now: now)
        #expect(renewed.pins == identity.pins)
        #expect(renewed.rootKeyPEM == identity.rootKeyPEM)
        #expect((renewed.rootPEM != identity.rootPEM) == isOff)
        #expect(try validates(renewed, host: "a.example.com", at: now, pins: identity.pins))
        #expect(!renewed.needsRenewal(hosts: ["a.example.com"], now: now))
    }

    @Test("A root from a clock that was five days ahead is valid and kept when the certificate is renewed")
    func rootStays() throws {
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: now.addingTimeInterval(5 * 86_400))
        #expect(identity.needsRenewal(hosts: ["a.example.com"], now: now))
        let renewed = try identity.renewed(hosts: [], now: now)
        #expect(renewed.rootPEM == identity.rootPEM)
        #expect(try validates(renewed, host: "a.example.com", at: now, pins: identity.pins))
    }

    @Test("A certificate and root from a clock decades behind are renewed so that the certificate is valid now")
    func clockWasBehind() throws {
        let identity = try ServerIdentity.make(hosts: ["a.example.com"], now: Date(timeIntervalSince1970: 40 * 86_400))
        let renewed = try identity.renewed(hosts: [], now: now)
        #expect(identity.needsRenewal(hosts: [], now: now))
        #expect(try validates(renewed, host: "a.example.com", at: now, pins: identity.pins))
    }

    @Test(
        "A certificate and root from the future are renewed, and initial configurations contain the new root")
    func renewedWhileRunning() async throws {
        let account = try await AuthorityBench()
        let start = account.clock.date
        account.clock.setDate(start.addingTimeInterval(40 * 86_400))
        let identity = try await account.store.serverIdentity(hosts: ["a.example.com"])
        try await account.store.remember(
            Endpoint(url: try #require(URL(string: AuthorityBench.url)), pins: identity.pins, trustRoots: identity.rootPEM))
        let renewal = RenewedCertificate(store: account.store, hosts: ["a.example.com"], identity: identity)
        #expect(try await renewal.renewIfDue() == nil)
        account.clock.setDate(start)
        #expect(try await renewal.renewIfDue() == .certificateAndRoot)
        #expect(try await renewal.renewIfDue() == nil)
        let saved = try #require(try await account.store.savedIdentity())
        #expect(saved.rootPEM != identity.rootPEM && saved.pins == identity.pins)
        #expect(try await account.store.initialConfiguration().trustRoots == saved.rootPEM)
    }

    @Test("A second rotation within the given time is refused, and one after it or without such a time is not")
    func secondRotation() async throws {
        let account = try await AuthorityBench()
        let url = try #require(URL(string: AuthorityBench.url))
        func serve() async throws {
            let identity = try await account.store.serverIdentity(hosts: [])
            try await account.store.remember(Endpoint(url: url, pins: identity.pins, trustRoots: identity.rootPEM))
        }
        try await serve()
        account.clock.advance(by: .seconds(60))
        // The first one is in order: apps have known the backup key from the beginning.
        try await account.store.rotateServerKey(unlessWithin: .seconds(86_400))
        try await serve()
        account.clock.advance(by: .seconds(86_398))
        await refuses(.rotationTooSoon) { try await account.store.rotateServerKey(unlessWithin: .seconds(86_400)) }
        account.clock.advance(by: .seconds(4))
        try await account.store.rotateServerKey(unlessWithin: .seconds(86_400))
        try await serve()
        try await account.store.rotateServerKey()
    }

    @Test("A renewal after the key was rotated reports that the certificate is for the other key")
    func renewedAfterRotation() async throws {
        let account = try await AuthorityBench()
        let identity = try await account.store.serverIdentity(hosts: ["a.example.com"])
        try await account.store.remember(
            Endpoint(url: try #require(URL(string: AuthorityBench.url)), pins: identity.pins, trustRoots: identity.rootPEM))
        let renewal = RenewedCertificate(store: account.store, hosts: ["a.example.com"], identity: identity)
        try await account.store.rotateServerKey()
        #expect(try await renewal.renewIfDue() == nil)
        account.clock.advance(by: .seconds(200 * 86_400))
        #expect(try await renewal.renewIfDue() == .certificateAndKey)
        #expect(try await renewal.renewIfDue() == nil)
        #expect(try await account.store.savedIdentity()?.pins.first == identity.pins[1])
    }
}
