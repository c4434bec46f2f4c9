import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreHostsTests {
    @Test("A host is stored under its canonical name, with canonical pins")
    func canonical() async throws {
        let account = try await AuthorityBench()
        let bare = AuthorityBench.pins.map { String($0.dropFirst("sha256/".count)) }
        try await account.store.addHost("Shapes.Example.COM.", settings: HostSettings(pins: bare))
        let host = try #require(try account.store.host(for: "SHAPES.example.com"))
        #expect(host.name == "shapes.example.com")
        #expect(host.settings.pins == AuthorityBench.pins)
    }

    @Test("A pattern covers names one level below it, and includeSubdomains covers all levels below a host")
    func patterns() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        try await store.addHost("*.wild.example", settings: HostSettings(pins: AuthorityBench.pins, kid: nil))
        try await store.addHost("deep.example", settings: HostSettings(pins: AuthorityBench.pins, includeSubdomains: true))
        #expect(try store.host(for: "a.wild.example")?.name == "*.wild.example")
        #expect(try store.host(for: "a.b.wild.example") == nil)
        #expect(try store.host(for: "a.b.deep.example")?.name == "deep.example")
        #expect(try store.host(for: "notdeep.example") == nil)
    }

    @Test("Every change increases the version by one and is part of the newest signed configuration")
    func versions() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await store.setPins(AuthorityBench.pins.reversed(), forHost: "b.example.com")
        try await store.removeHost("b.example.com")
        #expect(store.configurationVersion == version + 3)
        let payload = try DynamicConfiguration(json: JSONValue(reading: try store.currentConfiguration().payloadBytes, limit: 1 << 18))
        #expect(payload.version == version + 3)
        #expect(payload.hosts.keys.sorted() == [AuthorityBench.host])
    }

    @Test("A change that clients would refuse is rejected and changes nothing")
    func refused() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        await refuses(.configurationRefused) {
            try await store.addHost("one.example.com", settings: HostSettings(pins: [AuthorityBench.pins[0]]))
        }
        await refuses(.configurationRefused) { try await store.setPins([AuthorityBench.pins[0]], forHost: AuthorityBench.host) }
        #expect(store.configurationVersion == version)
        #expect(store.hosts.map(\.name) == [AuthorityBench.host])
        #expect(store.hosts.first?.settings.pins == AuthorityBench.pins)
    }

    @Test("Repeated pins and the hash of no bytes are rejected, because they would count as a backup pin")
    func uselessPins() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let (one, two) = (AuthorityBench.pins[0], AuthorityBench.pins[1])
        let nothing = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for pins in [[one, one], [one, one, two], [one, String(one.dropFirst(7)), two], [one, nothing], [one, two, nothing]] {
            await refuses(.malformedPin) { try await store.addHost("two.example.com", settings: HostSettings(pins: pins)) }
            await refuses(.malformedPin) { try await store.setPins(pins, forHost: AuthorityBench.host) }
        }
        await refuses(.malformedPin) { try await store.setManagedTrustRoots([nothing]) }
        #expect(store.hosts.first?.settings.pins == AuthorityBench.pins)
    }

    @Test("A host without pins needs managed trust roots, which then cannot be removed")
    func managedRoots() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.pinsRequired) { try await store.addHost("none.example.com", settings: HostSettings()) }
        try await store.setManagedTrustRoots(AuthorityBench.pins)
        try await store.addHost("none.example.com", settings: HostSettings())
        // Removing the managed trust roots would leave the host without any pin.
        await refuses(.configurationRefused) { try await store.setManagedTrustRoots([]) }
        #expect(store.managedTrustRoots == AuthorityBench.pins.sorted())
    }

    @Test(
        "A name that is not a host is rejected",
        arguments: [
            "", " ", "a b.example", "*", "*.com", "user@example.com", "https://example.com", "a%2eb.example", "0x7f.1", "a*.example.com",
        ])
    func malformedNames(name: String) async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.malformedHost) { try await store.addHost(name, settings: HostSettings(pins: AuthorityBench.pins)) }
    }

    @Test("A host entry that covers a public suffix's subdomains is rejected, also if includeSubdomains is set later")
    func publicSuffixes() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        for (name, below) in [("*.co.uk", false), ("**.github.io", false), ("github.io", true)] {
            await refuses(.malformedHost) {
                try await store.addHost(name, settings: HostSettings(pins: AuthorityBench.pins, includeSubdomains: below))
            }
        }
        try await store.addHost("github.io", settings: HostSettings(pins: AuthorityBench.pins))
        await refuses(.malformedHost) { try await store.updateHost("github.io") { $0.includeSubdomains = true } }
    }

    @Test("Trust roots that are all expired, or that contain no root, are rejected")
    func trustRoots() async throws {
        let clock = ManualClock(date: Date())
        let bench = try await AuthorityBench(clock: clock)
        let store = bench.store
        let root = try TestPKI.root(validity: Date().addingTimeInterval(-86_400)...Date().addingTimeInterval(86_400))
        let expired = try TestPKI.root(validity: Date().addingTimeInterval(-86_400)...Date().addingTimeInterval(-3_600))
        let leaf = try TestPKI.leaf(hosts: ["b.example.com"], issuer: root)
        for pem in [expired.pem, leaf.pem] {
            await refuses(.malformedTrustRoots) {
                try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins, trustRoots: pem))
            }
        }
        try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins, trustRoots: root.pem))
        await refuses(.malformedTrustRoots) { try await store.updateHost("b.example.com") { $0.trustRoots = expired.pem } }
        // The roots expired after they were added. The kill switch still works.
        clock.setDate(Date().addingTimeInterval(10 * 86_400))
        try await store.updateHost("b.example.com") { $0.enforce = false }
        await refuses(.malformedTrustRoots) {
            try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins, trustRoots: root.pem))
        }
    }

    @Test(
        "A malformed pin is rejected",
        arguments: ["", "sha256/", "sha1/AAAA", "sha256/AAAA", "sha256/" + String(repeating: "A", count: 44)])
    func malformedPins(pin: String) async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.malformedPin) {
            try await store.addHost("a.example.com", settings: HostSettings(pins: [pin, AuthorityBench.pins[0]]))
        }
        await refuses(.malformedPin) { try await store.setManagedTrustRoots([pin]) }
    }

    @Test("A host with an unknown keyset is rejected")
    func unknownKeyset() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.unknownKeyset) {
            try await store.addHost("a.example.com", settings: HostSettings(pins: AuthorityBench.pins, kid: "none"))
        }
    }

    @Test("Removing an unknown host, or setting its pins, is an error")
    func unknown() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.unknownHost) { try await store.removeHost("other.example.com") }
        await refuses(.unknownHost) { try await store.setPins(AuthorityBench.pins, forHost: "other.example.com") }
    }

    @Test("Concurrent changes to parts of a host's settings are all applied")
    func update() async throws {
        let account = try await AuthorityBench()
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        let added = (10..<20).map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, pin) in added.enumerated() {
                let store = index % 2 == 0 ? account.store : other
                group.addTask { try await store.updateHost(AuthorityBench.host) { $0.pins.append(pin) } }
            }
            group.addTask { try await other.updateHost(AuthorityBench.host) { $0.enforce = false } }
            try await group.waitForAll()
        }
        try await account.store.refresh()
        let settings = try #require(try account.store.host(for: AuthorityBench.host)?.settings)
        #expect(Set(settings.pins) == Set(AuthorityBench.pins + added) && !settings.enforce && settings.attested)
    }

    @Test("Concurrent changes to the managed trust roots are all applied, and one that is rejected changes nothing")
    func updateManagedRoots() async throws {
        let account = try await AuthorityBench()
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        try await account.store.setManagedTrustRoots(AuthorityBench.pins)
        let added = (10..<20).map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, pin) in added.enumerated() {
                let store = index % 2 == 0 ? account.store : other
                group.addTask { try await store.updateManagedTrustRoots { $0.append(pin) } }
            }
            group.addTask { try await other.updateManagedTrustRoots { pins in pins.removeAll { $0 == AuthorityBench.pins[0] } } }
            try await group.waitForAll()
        }
        try await account.store.refresh()
        let expected = (added + [AuthorityBench.pins[1]]).sorted()
        #expect(account.store.managedTrustRoots == expected)
        let version = account.store.configurationVersion
        await refuses(.malformedPin) { try await account.store.updateManagedTrustRoots { $0.append("sha1/x") } }
        await #expect(throws: CancellationError.self) {
            try await account.store.updateManagedTrustRoots { pins in
                pins = []
                throw CancellationError()
            }
        }
        #expect(account.store.managedTrustRoots == expected && account.store.configurationVersion == version)
    }

    @Test("A new host can be checked before there is a store")
    func checkedBefore() async throws {
        try AuthorityStore.checkNewHost("*.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        await refuses(.malformedHost) { try AuthorityStore.checkNewHost("*.co.uk", settings: HostSettings(pins: AuthorityBench.pins)) }
        await refuses(.malformedPin) { try AuthorityStore.checkNewHost("a.example.com", settings: HostSettings(pins: ["x"])) }
        await refuses(.malformedTrustRoots) {
            try AuthorityStore.checkNewHost("a.example.com", settings: HostSettings(pins: AuthorityBench.pins, trustRoots: "x"))
        }
    }

    @Test("A change that throws, names an unknown host, or that clients would refuse changes nothing")
    func updateRefused() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        await refuses(.unknownHost) { try await store.updateHost("else.example.com") { $0.enforce = false } }
        await refuses(.malformedPin) { try await store.updateHost(AuthorityBench.host) { $0.pins = ["sha1/x", "y"] } }
        await refuses(.unknownKeyset) { try await store.updateHost(AuthorityBench.host) { $0.kid = "none" } }
        await refuses(.configurationRefused) { try await store.updateHost(AuthorityBench.host) { $0.pins.removeLast() } }
        await #expect(throws: CancellationError.self) {
            try await store.updateHost(AuthorityBench.host) { settings in
                settings.enforce = false
                throw CancellationError()
            }
        }
        #expect(store.configurationVersion == version)
        #expect(store.hosts.first?.settings.enforce == true)
        // A host whose pins are only reported may have a single pin.
        try await store.updateHost(AuthorityBench.host) {
            $0.enforce = false
            $0.pins.removeLast()
        }
        #expect(store.hosts.first?.settings.pins.count == 1)
    }
}
