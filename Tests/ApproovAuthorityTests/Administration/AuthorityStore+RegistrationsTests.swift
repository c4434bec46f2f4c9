import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreRegistrationsTests {
    private func measurement(_ number: UInt8) -> String { Base64.encode([UInt8](repeating: number, count: 32)) }

    @Test("Registrations are listed by date and then by label, and a new label keeps the date")
    func order() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        account.clock.advance(by: .seconds(60))
        try await store.addRegistrations([(measurement(3), "c"), (measurement(9), "a"), (measurement(1), "b")])
        account.clock.advance(by: .seconds(60))
        try await store.addRegistration(measurement(2), label: "0")
        #expect(store.registrations.map(\.label) == ["test", "a", "b", "c", "0"])
        let dates = store.registrations.map(\.addedAt)
        #expect(dates.map { $0 - dates[0] } == [0, 60, 60, 60, 120])
        try await store.addRegistration(AuthorityBench.measurement, label: "z")
        #expect(store.registrations.first?.label == "z" && store.registrations.first?.addedAt == dates[0])
    }

    @Test("A bulk registration adds all entries or none, and counts those added, changed and unchanged")
    func many() async throws {
        let store = try await AuthorityBench().store
        let first = try await store.addRegistrations([(measurement(1), "a"), (AuthorityBench.measurement, "test")])
        #expect(first == BulkChange(added: 1, changed: 0, unchanged: 1))
        let second = try await store.addRegistrations([(measurement(1), "b"), (measurement(2), "c")])
        #expect(second == BulkChange(added: 1, changed: 1, unchanged: 0))
        await refuses(.malformedMeasurement) { try await store.addRegistrations([(measurement(4), "d"), ("AAAA", "e")]) }
        #expect(store.registrations.count == 3)
    }

    @Test("A measurement is read from base64 or from hexadecimal of either case, and from no other form")
    func spellings() async throws {
        let bytes = (0..<32).map { UInt8($0 * 8 + 3) }
        let hexadecimal = bytes.map { String(format: "%02x", $0) }.joined()
        for text in [Base64.encode(bytes), hexadecimal, hexadecimal.uppercased()] {
            #expect(try AuthorityStore.canonicalMeasurement(text) == Base64.encode(bytes))
        }
        for text in [
            "", "AAAA", String(hexadecimal.dropLast()), hexadecimal + "0", "g" + hexadecimal.dropFirst(), Base64.encode(bytes) + "=",
        ] {
            await refuses(.malformedMeasurement) { _ = try AuthorityStore.canonicalMeasurement(text) }
        }
    }
}
