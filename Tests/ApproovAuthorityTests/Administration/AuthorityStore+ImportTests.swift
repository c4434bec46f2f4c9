import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreImportTests {
    private func entry(_ name: String, _ change: (inout HostSettings) -> Void = { _ in }) -> (name: String, settings: HostSettings) {
        var settings = HostSettings(pins: AuthorityBench.pins)
        change(&settings)
        return (name, settings)
    }

    @Test("An import of many hosts makes one configuration version, and repeating it makes none")
    func oneVersion() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        let entries = (0..<500).map { entry("h\($0).example.com") } + [entry(AuthorityBench.host) { $0.attested = false }]
        #expect(try await store.importHosts(entries) == BulkChange(added: 500, changed: 1, unchanged: 0))
        #expect(store.configurationVersion == version + 1 && store.hosts.count == 501)
        let payload = try DynamicConfiguration(json: JSONValue(reading: try store.currentConfiguration().payloadBytes, limit: 1 << 18))
        #expect(payload.hosts.count == 501 && payload.hosts[AuthorityBench.host]?.attested == false)
        #expect(try await store.importHosts(entries) == BulkChange(added: 0, changed: 0, unchanged: 501))
        #expect(store.configurationVersion == version + 1)
    }

    @Test("One rejected entry rejects the whole import, and the error contains its number")
    func allOrNothing() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        let cases: [(AuthorityError.Code, (name: String, settings: HostSettings))] = [
            (.malformedHost, entry("*.com")), (.malformedHost, entry("GOOD.example.com")),
            (.malformedPin, entry("b.example.com") { $0.pins[1] = $0.pins[0] }),
            (.configurationRefused, entry("b.example.com") { $0.pins.removeLast() }),
            (.pinsRequired, entry("b.example.com") { $0.pins = [] }),
            (.unknownKeyset, entry("b.example.com") { $0.kid = "none" }),
            (.obliviousUnset, entry("b.example.com") { $0.oblivious = true }),
            (.malformedTrustRoots, entry("b.example.com") { $0.trustRoots = "none" }),
        ]
        for (code, bad) in cases {
            do {
                try await store.importHosts([entry("good.example.com"), bad])
                Issue.record("\(bad.name) was not refused as \(code)")
            } catch let error as AuthorityError {
                #expect(error.code == code)
                #expect(error.message.hasPrefix("entry 2: "), "\(error)")
            }
        }
        #expect(store.hosts.map(\.name) == [AuthorityBench.host] && store.configurationVersion == version)
    }
}
