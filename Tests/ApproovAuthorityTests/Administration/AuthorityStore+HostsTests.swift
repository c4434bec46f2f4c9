import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreHostsTests {
    @Test("a host is kept under its canonical name, with canonical pins")
    func canonical() async throws {
        let account = try await AuthorityBench()
        let bare = AuthorityBench.pins.map { String($0.dropFirst("sha256/".count)) }
        try await account.store.addHost("Shapes.Example.COM.", settings: HostSettings(pins: bare))
        let host = try #require(try account.store.host(for: "SHAPES.example.com"))
        #expect(host.name == "shapes.example.com")
        #expect(host.settings.pins == AuthorityBench.pins)
    }

    @Test("patterns and subdomains decide by the most specific entry")
    func patterns() async throws {
        let store = try await AuthorityBench().store
        try await store.addHost("*.wild.example", settings: HostSettings(pins: AuthorityBench.pins, kid: nil))
        try await store.addHost("deep.example", settings: HostSettings(pins: AuthorityBench.pins, includeSubdomains: true))
        #expect(try store.host(for: "a.wild.example")?.name == "*.wild.example")
        #expect(try store.host(for: "a.b.wild.example") == nil)
        #expect(try store.host(for: "a.b.deep.example")?.name == "deep.example")
        #expect(try store.host(for: "notdeep.example") == nil)
    }

    @Test("every change grows the version by one and is in the newest signed configuration")
    func versions() async throws {
        let store = try await AuthorityBench().store
        let version = store.configurationVersion
        try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await store.setPins(AuthorityBench.pins.reversed(), forHost: "b.example.com")
        try await store.removeHost("b.example.com")
        #expect(store.configurationVersion == version + 3)
        let payload = try DynamicConfiguration(json: JSONValue(reading: try store.currentConfiguration().payloadBytes, limit: 1 << 18))
        #expect(payload.version == version + 3)
        #expect(payload.hosts.keys.sorted() == [AuthorityBench.host])
    }

    @Test("what clients would refuse changes nothing")
    func refused() async throws {
        let store = try await AuthorityBench().store
        let version = store.configurationVersion
        await refuses(.configurationRefused) {
            try await store.addHost("one.example.com", settings: HostSettings(pins: [AuthorityBench.pins[0]]))
        }
        await refuses(.configurationRefused) { try await store.setPins([AuthorityBench.pins[0]], forHost: AuthorityBench.host) }
        #expect(store.configurationVersion == version)
        #expect(store.hosts.map(\.name) == [AuthorityBench.host])
        #expect(store.hosts.first?.settings.pins == AuthorityBench.pins)
    }

    @Test("pins that are there twice, in either spelling, and the hash of no bytes are refused: they would pass for a backup")
    func uselessPins() async throws {
        let store = try await AuthorityBench().store
        let (one, two) = (AuthorityBench.pins[0], AuthorityBench.pins[1])
        let nothing = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for pins in [[one, one], [one, one, two], [one, String(one.dropFirst(7)), two], [one, nothing], [one, two, nothing]] {
            await refuses(.malformedPin) { try await store.addHost("two.example.com", settings: HostSettings(pins: pins)) }
            await refuses(.malformedPin) { try await store.setPins(pins, forHost: AuthorityBench.host) }
        }
        await refuses(.malformedPin) { try await store.setManagedTrustRoots([nothing]) }
        #expect(store.hosts.first?.settings.pins == AuthorityBench.pins)
    }

    @Test("a host without pins needs managed trust roots")
    func managedRoots() async throws {
        let store = try await AuthorityBench().store
        await refuses(.pinsRequired) { try await store.addHost("none.example.com", settings: HostSettings()) }
        try await store.setManagedTrustRoots(AuthorityBench.pins)
        try await store.addHost("none.example.com", settings: HostSettings())
        // Taking them away would leave it without any pin.
        await refuses(.configurationRefused) { try await store.setManagedTrustRoots([]) }
        #expect(store.managedTrustRoots == AuthorityBench.pins.sorted())
    }

    @Test(
        "a name that is no host is refused",
        arguments: [
            "", " ", "a b.example", "*", "*.com", "user@example.com", "https://example.com", "a%2eb.example", "0x7f.1", "a*.example.com",
        ])
    func malformedNames(name: String) async throws {
        let store = try await AuthorityBench().store
        await refuses(.malformedHost) { try await store.addHost(name, settings: HostSettings(pins: AuthorityBench.pins)) }
    }

    @Test("a pattern that covers a public suffix is refused, also when the names below are added later")
    func publicSuffixes() async throws {
        let store = try await AuthorityBench().store
        for (name, below) in [("*.co.uk", false), ("**.github.io", false), ("github.io", true)] {
            await refuses(.malformedHost) {
                try await store.addHost(name, settings: HostSettings(pins: AuthorityBench.pins, includeSubdomains: below))
            }
        }
        try await store.addHost("github.io", settings: HostSettings(pins: AuthorityBench.pins))
        await refuses(.malformedHost) { try await store.updateHost("github.io") { $0.includeSubdomains = true } }
    }

    @Test("trust roots of which none holds any more, or none is a root, are refused")
    func trustRoots() async throws {
        let clock = ManualClock(date: Date())
        let store = try await AuthorityBench(clock: clock).store
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
        // The roots ran out after they were added: the kill switch still works.
        clock.setDate(Date().addingTimeInterval(10 * 86_400))
        try await store.updateHost("b.example.com") { $0.enforce = false }
        await refuses(.malformedTrustRoots) {
            try await store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins, trustRoots: root.pem))
        }
    }

    @Test(
        "a malformed pin is refused", arguments: ["", "sha256/", "sha1/AAAA", "sha256/AAAA", "sha256/" + String(repeating: "A", count: 44)])
    func malformedPins(pin: String) async throws {
        let store = try await AuthorityBench().store
        await refuses(.malformedPin) {
            try await store.addHost("a.example.com", settings: HostSettings(pins: [pin, AuthorityBench.pins[0]]))
        }
        await refuses(.malformedPin) { try await store.setManagedTrustRoots([pin]) }
    }

    @Test("a host with an unknown keyset is refused, and says what to do")
    func unknownKeyset() async throws {
        let store = try await AuthorityBench().store
        await refuses(.unknownKeyset) {
            try await store.addHost("a.example.com", settings: HostSettings(pins: AuthorityBench.pins, kid: "none"))
        }
    }

    @Test("removing or pinning a host that is not there is an error")
    func unknown() async throws {
        let store = try await AuthorityBench().store
        await refuses(.unknownHost) { try await store.removeHost("other.example.com") }
        await refuses(.unknownHost) { try await store.setPins(AuthorityBench.pins, forHost: "other.example.com") }
    }

    @Test("a part of a host's settings is changed, also while another change touches another part")
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

    @Test("a change that fails, names no host, or that clients would refuse changes nothing")
    func updateRefused() async throws {
        let store = try await AuthorityBench().store
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
        // What is only reported may have one pin.
        try await store.updateHost(AuthorityBench.host) {
            $0.enforce = false
            $0.pins.removeLast()
        }
        #expect(store.hosts.first?.settings.pins.count == 1)
    }
}
