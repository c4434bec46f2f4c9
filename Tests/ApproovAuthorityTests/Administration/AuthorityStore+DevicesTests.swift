import ApproovTesting
import Attestation
import Crypto
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreDevicesTests {
    private func device() -> DeviceID { DeviceID(installationKey: P256.Signing.PrivateKey().publicKey) }

    @Test("Devices are listed by date with policy and expiry, come back when the store is opened again, and are replaced and removed")
    func devices() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        let (first, second, start) = (device(), device(), account.store.now)
        try await store.setDevicePolicy(.alwaysFail, for: first)
        account.clock.advance(by: .seconds(5))
        try await store.setDevicePolicy(.alwaysPass, for: second, expiresAt: start + 60)
        #expect(store.devices.map(\.deviceID) == [first, second])
        #expect(store.devices.map(\.policy) == [.alwaysFail, .alwaysPass])
        #expect(store.devices.map(\.addedAt) == [start, start + 5] && store.devices.map(\.expiresAt) == [nil, start + 60])
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).devices == store.devices)

        try await store.setDevicePolicy(.alwaysPass, for: first, expiresAt: start + 10)
        #expect(store.devices.count == 2 && store.snapshot.policy(of: first, at: start + 9) == .alwaysPass)
        #expect(store.snapshot.policy(of: first, at: start + 10) == nil && store.snapshot.policy(of: device(), at: start) == nil)

        try await store.removeDevicePolicy(of: second)
        #expect(store.devices.map(\.deviceID) == [first])
        await refuses(.unknownDevice) { try await store.removeDevicePolicy(of: second) }
        await refuses(.unknownDevice) { try await store.removeDevicePolicy(.alwaysFail, of: first) }
        #expect(store.devices.count == 1)
        try await store.removeDevicePolicy(.alwaysPass, of: first)
        #expect(store.devices.isEmpty)
    }

    @Test("An expiry that is not a date is refused, and the device gets no policy", arguments: [0, -1, 253_402_300_800] as [Int64])
    func noDate(expiresAt: Int64) async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.invalidConfiguration) { try await store.setDevicePolicy(.alwaysPass, for: device(), expiresAt: expiresAt) }
        #expect(store.devices.isEmpty)
    }

    @Test("A row with a policy or a device that this release does not know is an error, not a pass")
    func unknownRow() async throws {
        for values in ["(x'000102030405060708090a0b0c0d0e0f', 'sometimes', 1)", "(x'0001', 'always-pass', 1)"] {
            let account = try await AuthorityBench()
            try await account.store.database.connections.write { database in
                try database.execute(sql: "INSERT INTO device (id, policy, addedAt) VALUES \(values)")
            }
            await refuses(.storeDamaged) { _ = try AuthorityStore(directory: account.directory.url, time: account.clock) }
        }
    }

    @Test("Other processes see the device of the newest judged attestation, which changes no snapshot; refused evidence does not count")
    func newest() async throws {
        let account = try await AuthorityBench()
        let other = try AuthorityStore(directory: account.directory.url, access: .reading, time: account.clock)
        #expect(try await other.newestAttestation() == nil)
        let generation = account.store.snapshot.generation
        let (first, second) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let used = try account.evidence(key: first)
        _ = try await account.attest(used)
        account.clock.advance(by: .seconds(5))
        // A rejected one counts: it is the one that its developer asks for.
        _ = try await account.attest(account.evidence(key: second) { $0.measurements = [:] })
        for unjudged in try [used, account.evidence { $0.account = "other" }, account.evidence(challenge: "AAAA")] {
            await #expect(throws: Problem.self) { _ = try await account.attest(unjudged) }
        }
        let newest = try #require(try await other.newestAttestation())
        #expect(newest.deviceID == DeviceID(installationKey: second.publicKey))
        #expect(newest.judgedAt == account.clock.date)
        #expect(try await other.refresh() == false && account.store.snapshot.generation == generation)
    }
}
