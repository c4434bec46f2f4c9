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
        let bench = try await AuthorityBench()
        let store = bench.store
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

    @Test("A registration has an expiry if it is given one; registering again replaces it and keeps the date")
    func expiry() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        let (start, end) = (store.now, store.now + 60)
        try await store.addRegistration(measurement(1), label: "beta", expiresAt: end)
        func expiry() -> Int64? { store.registrations.first { $0.measurement == measurement(1) }?.expiresAt }
        #expect(expiry() == end && store.registrations.first { $0.label == "test" }?.expiresAt == nil)
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).registrations == store.registrations)
        account.clock.advance(by: .seconds(60))
        let beta = try #require(store.registrations.first { $0.label == "beta" })
        #expect(!beta.isExpired(at: end - 1) && beta.isExpired(at: end) && store.registrations.count == 2)
        #expect(try await store.addRegistrations([(measurement(1), "beta", end)]) == BulkChange(added: 0, changed: 0, unchanged: 1))
        #expect(try await store.addRegistrations([(measurement(1), "beta", end + 1)]) == BulkChange(added: 0, changed: 1, unchanged: 0))
        #expect(expiry() == end + 1)
        #expect(try await store.addRegistrations([(measurement(1), "beta")]) == BulkChange(added: 0, changed: 1, unchanged: 0))
        #expect(expiry() == nil && store.registrations.first { $0.label == "beta" }?.addedAt == start)
    }

    @Test("An import keeps the expiry that a registration has, unless it names another, and counts labels and expiries")
    func importing() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let end = store.now + 60
        try await store.addRegistrations([(measurement(1), "a", end), (measurement(2), "b", end)])
        func entry(_ number: UInt8) -> Registration? { store.registrations.first { $0.measurement == measurement(number) } }
        let change = try await store.importRegistrations([
            (measurement(1), "a", nil), (measurement(2), "c", end + 1), (measurement(3), "d", nil), (AuthorityBench.measurement, "e", nil),
        ])
        #expect(change.bulk == BulkChange(added: 1, changed: 2, unchanged: 1) && change.relabelled == 2 && change.expiriesChanged == 1)
        #expect(change.renewed == 0)
        #expect(entry(1)?.expiresAt == end && entry(2)?.expiresAt == end + 1 && entry(3) != nil && entry(3)?.expiresAt == nil)
    }

    @Test("An import renews a registration that has expired, and counts it as renewed and its expiry as changed")
    func renewing() async throws {
        let account = try await AuthorityBench()
        try await account.store.addRegistrations([(measurement(1), "a", account.store.now + 1)])
        account.clock.advance(by: .seconds(1))
        let change = try await account.store.importRegistrations([(measurement(1), "a", nil)])
        #expect(change.expiriesChanged == 1 && change.renewed == 1 && change.bulk == BulkChange(added: 0, changed: 1, unchanged: 0))
        #expect(account.store.registrations.first { $0.measurement == measurement(1) }.map { $0.expiresAt == nil } == true)
    }

    @Test("An expiry that is not a date is refused, and nothing is registered", arguments: [0, -1, 253_402_300_800, .max] as [Int64])
    func noDate(expiresAt: Int64) async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.invalidConfiguration) { try await store.addRegistration(measurement(1), label: "", expiresAt: expiresAt) }
        await refuses(.invalidConfiguration) {
            try await store.addRegistrations([(measurement(2), "", nil), (measurement(1), "", expiresAt)])
        }
        #expect(store.registrations.count == 1)
    }
}
