import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import GRDB
import TestTags
import Testing

@testable import ApproovAuthority

@Suite(.tags(.slow)) struct AuthorityStoreConfigurationTests {
    private func initial(_ account: AuthorityBench) async throws -> InitialConfiguration {
        let url = try #require(URL(string: AuthorityBench.url))
        return try await account.store.initialConfiguration(authority: url, authorityPins: AuthorityBench.pins)
    }

    @Test("An initial configuration reads back and is accepted by a client")
    func initialConfiguration() async throws {
        let account = try await AuthorityBench()
        let initial = try await initial(account)
        let read = try InitialConfiguration(initial.serialized)
        let state = try ConfigurationState(initial: read)
        #expect(state.accepted.hosts.keys.sorted() == [AuthorityBench.host])
        #expect(read.account == account.store.account)
        #expect(!read.usesDemoKeys)
    }

    @Test("An initial configuration needs a URL or an authority that has run before")
    func neverServed() async throws {
        let account = try await AuthorityBench()
        await refuses(.invalidConfiguration) { _ = try await account.store.initialConfiguration() }
    }

    @Test("By default an initial configuration contains the authority's last URL, pins and root")
    func lastServed() async throws {
        let account = try await AuthorityBench()
        let identity = try await account.store.serverIdentity(hosts: [])
        let url = try #require(URL(string: AuthorityBench.url))
        try await account.store.remember(Endpoint(url: url, pins: identity.pins, trustRoots: identity.rootPEM))
        let initial = try await account.store.initialConfiguration()
        #expect(initial.authority == url)
        #expect(initial.authorityPins == identity.pins)
        #expect(initial.trustRoots == identity.rootPEM)
    }

    @Test("New authority pins are signed in a new version for existing apps; the first and the same pins are not")
    func authorityPins() async throws {
        let account = try await AuthorityBench()
        let url = try #require(URL(string: AuthorityBench.url))
        let other = [3, 4].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }
        let version = account.store.configurationVersion
        try await account.store.remember(Endpoint(url: url, pins: AuthorityBench.pins, trustRoots: nil))
        try await account.store.remember(Endpoint(url: url, pins: AuthorityBench.pins.reversed(), trustRoots: nil))
        #expect(account.store.configurationVersion == version)
        let state = try ConfigurationState(initial: try await account.store.initialConfiguration())
        try await account.store.remember(Endpoint(url: url, pins: other, trustRoots: nil))
        #expect(account.store.configurationVersion == version + 1)
        let accepted = try state.accepting(account.store.snapshot.configurations(since: version, hash: nil), now: account.clock.date)
        #expect(accepted.accepted.authorityPins == other)
        #expect(try await account.store.initialConfiguration().authorityPins == other)
    }

    @Test("A configuration is signed again once at half of its lifetime, even without a change")
    func renewal() async throws {
        let account = try await AuthorityBench()
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        let version = account.store.configurationVersion
        account.clock.advance(by: .seconds(15 * 86_400 - 1))
        #expect(try await account.store.renewConfigurationIfDue() == false)
        account.clock.advance(by: .seconds(1))
        #expect(try await account.store.renewConfigurationIfDue())
        #expect(try await other.renewConfigurationIfDue() == false)
        #expect(account.store.configurationVersion == version + 1)
    }

    @Test("A client accepts the versions since its own: those that change the key, and the newest")
    func keyChange() async throws {
        let account = try await AuthorityBench()
        let state = try ConfigurationState(initial: try await initial(account))
        let version = account.store.configurationVersion
        try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await account.store.rotateConfigurationKey()
        try await account.store.addHost("c.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await account.store.rotateConfigurationKey()
        try await account.store.addHost("d.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let list = account.store.snapshot.configurations(since: version, hash: nil)
        #expect(list.count == 3)
        let accepted = try state.accepting(list, now: account.clock.date)
        #expect(accepted.accepted.version == version + 7)
        #expect(accepted.accepted.hosts.count == 4)
        // A client that missed the key change rejects the newest version alone.
        #expect(throws: AttestationError.self) { try state.accepting([list[2]], now: account.clock.date) }
        // A new client starts with the newest key.
        let fresh = try await initial(account)
        #expect(try ConfigurationState(initial: fresh).accepted.version == version + 7)
    }

    @Test("A key change that clients would refuse is rejected with the remedy and changes nothing; a new epoch has none of them")
    func tooManyKeyChanges() async throws {
        let account = try await AuthorityBench()
        let state = try ConfigurationState(initial: try await initial(account))
        for _ in 1..<ConfigurationState.maximumChainLength { try await account.store.rotateConfigurationKey() }
        let (version, key) = (account.store.configurationVersion, account.store.snapshot.configurationKey.rawRepresentation)
        let error = await #expect(throws: AuthorityError.self) { try await account.store.rotateConfigurationKey() }
        #expect(error?.code == .configurationRefused && error?.message.contains("approov sdk -newEpoch") == true, "\(error?.message ?? "")")
        #expect(account.store.configurationVersion == version)
        #expect(account.store.snapshot.configurationKey.rawRepresentation == key)
        // The first app has missed all of them, and accepts every other change.
        try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let list = account.store.snapshot.configurations(since: state.accepted.version, hash: nil)
        #expect(try state.accepting(list, now: account.clock.date).accepted.hosts.count == 2)
        try await account.store.startEpoch()
        try await account.store.rotateConfigurationKey()
    }

    @Test("Key changes of more bytes than a client stores are rejected")
    func tooLargeKeyChanges() async throws {
        let account = try await AuthorityBench()
        try await account.store.rotateConfigurationKey()
        // The newest version may still grow to its own limit.
        let bytes = ConfigurationState.maximumSerializedBytes - SignedConfiguration.maximumBytes
        await refuses(.configurationRefused) {
            try await account.store.database.connections.write { database in
                try database.execute(sql: "UPDATE configuration SET document = ZEROBLOB(?) WHERE changesKeys", arguments: [bytes])
                try ConfigurationIssue.checkKeyChanges(in: database)
            }
        }
    }

    @Test("An initial configuration works immediately after a key change, and its apps accept the next change")
    func initialAfterKeyChange() async throws {
        let account = try await AuthorityBench()
        try await account.store.rotateConfigurationKey()
        let state = try ConfigurationState(initial: try await initial(account))
        try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let list = account.store.snapshot.configurations(since: state.accepted.version, hash: nil)
        #expect(try state.accepting(list, now: account.clock.date).accepted.hosts.count == 2)
    }

    @Test("A client that accepts a version from a clock a year ahead also accepts the next one, from the right clock")
    func clockWasAhead() async throws {
        let account = try await AuthorityBench()
        var state = try ConfigurationState(initial: try await initial(account))
        let date = account.clock.date
        account.clock.setDate(date.addingTimeInterval(365 * 86_400))
        try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        state = try state.accepting(account.store.snapshot.configurations(since: state.accepted.version, hash: nil), now: date)
        account.clock.setDate(date)
        try await account.store.addHost("c.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        state = try state.accepting(account.store.snapshot.configurations(since: state.accepted.version, hash: nil), now: date)
        #expect(state.accepted.hosts.count == 3)
    }

    @Test("An app gets no version that it has, and an app with a later version gets the newest one")
    func upToDate() async throws {
        let account = try await AuthorityBench()
        let version = account.store.configurationVersion
        #expect(account.store.snapshot.configurations(since: version, hash: nil).isEmpty)
        // An app with a later version gets the newest one, and sees that the authority is behind.
        #expect(account.store.snapshot.configurations(since: version + 100, hash: nil) == [try account.store.currentConfiguration()])
        #expect(account.store.snapshot.configurations(since: 0, hash: nil).count == 1)
    }

    @Test("A new epoch begins at version 1 with a new key, and apps enter it only by its initial configuration")
    func newEpoch() async throws {
        let account = try await AuthorityBench()
        let old = try await initial(account)
        try await account.store.rotateConfigurationKey()
        let key = account.store.snapshot.configurationKey.rawRepresentation
        try await account.store.startEpoch()
        #expect(account.store.configurationEpoch == 2 && account.store.configurationVersion == 1)
        #expect(account.store.snapshot.configurationKey.rawRepresentation != key)
        #expect(account.store.hosts.map(\.name) == [AuthorityBench.host])
        let list = account.store.snapshot.configurations(since: 0, hash: nil)
        #expect(list.count == 1)
        // An app of the old epoch rejects the new version and keeps what it has.
        let before = try ConfigurationState(initial: old)
        #expect(throws: AttestationError.self) { try before.accepting(list, now: account.clock.date) }
        // With the new initial configuration the app discards what it stored, whatever its version, and accepts the next change.
        let renewed = try await initial(account)
        #expect(renewed.epoch == 2)
        let error = #expect(throws: AttestationError.self) {
            try ConfigurationState(initial: renewed, restoring: old.configuration.serialized)
        }
        #expect(error?.code == .wrongEpoch)
        let state = try ConfigurationState(initial: renewed)
        try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let next = try state.accepting(account.store.snapshot.configurations(since: 1, hash: nil), now: account.clock.date)
        #expect(next.accepted.version == 2 && next.accepted.epoch == 2 && next.accepted.hosts.count == 2)
    }

    @Test("An epoch can only grow, and stays below 2^53", arguments: [0, 1, -1, 1 << 53, Int64.max] as [Int64])
    func epochOnlyGrows(epoch: Int64) async throws {
        let account = try await AuthorityBench()
        let version = account.store.configurationVersion
        await refuses(.invalidConfiguration) { try await account.store.startEpoch(epoch) }
        #expect(account.store.configurationEpoch == 1 && account.store.configurationVersion == version)
        try await account.store.startEpoch(41)
        #expect(account.store.configurationEpoch == 41)
    }

    /// Adds hosts without signing a version for each.
    private func fill(_ account: AuthorityBench, _ numbers: Range<Int>) async throws {
        try await account.store.database.connections.write { database in
            for number in numbers {
                try AccountHost(name: "host-\(number).example.com", settings: HostSettings(pins: AuthorityBench.pins)).save(
                    in: database, at: 0)
            }
        }
    }

    @Test("A client reads an initial configuration of over 256 KiB with a thousand hosts")
    func manyHosts() async throws {
        let account = try await AuthorityBench()
        try await fill(account, 0..<1_000)
        try await account.store.addHost("last.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let identity = try await account.store.serverIdentity(hosts: [])
        let written = try await account.store.initialConfiguration(
            authority: URL(string: AuthorityBench.url), authorityPins: identity.pins, trustRoots: identity.rootPEM
        ).serialized
        #expect(written.count > 256 * 1024 && written.count < InitialConfiguration.maximumBytes)
        let state = try ConfigurationState(initial: InitialConfiguration(written))
        #expect(state.accepted.hosts.count == 1_002)
    }

    @Test("A host that would make the configuration too large is rejected with the remedy, and changes nothing")
    func tooManyHosts() async throws {
        let account = try await AuthorityBench()
        try await fill(account, 0..<1_000)
        try await account.store.removeHost(AuthorityBench.host)
        // Adds all but the last few hosts. Those are added one by one.
        let bytes = try account.store.currentConfiguration().payloadBytes.count
        let count = 1_000 * DynamicConfiguration.maximumBytes / bytes - 5
        try await fill(account, 1_000..<count - 1)
        try await account.store.addHost("host.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let version = account.store.configurationVersion
        var failure: AuthorityError?
        for number in 0..<20 where failure == nil {
            do {
                try await account.store.addHost("more-\(number).example.com", settings: HostSettings(pins: AuthorityBench.pins))
            } catch {
                failure = error as? AuthorityError
            }
        }
        #expect(failure?.code == .configurationRefused)
        #expect(failure?.message.contains("256 KiB") == true && failure?.message.contains("remove unused hosts") == true)
        let (added, issued) = (account.store.hosts.count - count, account.store.configurationVersion - version)
        #expect(Int64(added) == issued)
        let size = try account.store.currentConfiguration().payloadBytes.count
        #expect(size <= DynamicConfiguration.maximumBytes && size > DynamicConfiguration.maximumBytes - 1_024)
    }
}
