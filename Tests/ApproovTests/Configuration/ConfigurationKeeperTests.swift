import ApproovTesting
import Attestation
import CertificatePinning
import Crypto
import Foundation
import OHTTP
import Testing

@testable import Approov

@Suite struct ConfigurationKeeperTests {
    let account: TestAccount
    let clock = ManualClock()

    init() throws { account = try TestAccount() }

    private func keeper(_ store: any ConfigurationStore) throws -> ConfigurationKeeper {
        try ConfigurationKeeper(initial: account.initial(), store: store, time: clock, logger: .quiet)
    }

    private func version(_ version: Int64, hosts: [String: HostSettings] = ["new.test": .pinned]) throws -> SignedConfiguration {
        try account.signed(account.configuration(version: version, hosts: hosts))
    }

    private func firstEvent(of keeper: ConfigurationKeeper) async -> ConfigurationEvent? {
        var events = keeper.events.stream().makeAsyncIterator()
        return await events.next()
    }

    @Test("a newer version is stored, then in force, and announced")
    func accepts() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
        #expect(keeper.current.protectedHost(for: try CanonicalHost("new.test")) != nil)
        #expect(keeper.current.protectedHost(for: try CanonicalHost("api.test")) == nil)
        #expect(store.storeCount == 1)
        guard case .accepted(version: 7) = await firstEvent(of: keeper) else {
            Issue.record("no event")
            return
        }
        // And a restart begins with it.
        #expect(try self.keeper(store).current.configuration.version == 7)
    }

    @Test("the version in force, offered again, changes and stores nothing")
    func same() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        let seven = try version(7)
        _ = await keeper.offer([seven])
        let before = keeper.current
        #expect(await keeper.offer([seven]) == false)
        #expect(keeper.current === before)
        #expect(store.storeCount == 1)
    }

    @Test("an older version, one of another account, an expired one and one that does not compile are refused and reported")
    func refuses() async throws {
        let other = try TestAccount()
        let good = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        // A malformed entry behind a good one, keys of an unknown kind alone, and no list at all.
        let unusable = try [good + [0, 3, 1, 0, 0x20], [0, 9, 1, 0, 0x30, 0, 4, 0, 1, 0, 1], Array(good.dropFirst(2))].map { keys in
            let settings = ObliviousSettings(relay: "https://relay.test/", keyConfig: Base64.encode(keys))
            return try account.signed(account.configuration(version: 8, oblivious: settings))
        }
        let candidates =
            [
                try version(6), try other.signed(other.configuration(version: 8)),
                try account.signed(account.configuration(version: 8, issuedAt: 1, expiresAt: 2)),
                try account.signed(account.configuration(version: 8, epoch: 2)),
                try version(8, hosts: ["*.com": .pinned]), try version(8, hosts: ["a.test": .pinned, "A.test": .pinned]),
            ] + unusable
        for candidate in candidates {
            let store = MemoryStore()
            let keeper = try keeper(store)
            _ = await keeper.offer([try version(7)])
            var events = keeper.events.stream().makeAsyncIterator()
            _ = await events.next()
            #expect(await keeper.offer([candidate]) == false)
            #expect(keeper.current.configuration.version == 7)
            #expect(store.storeCount == 1)
            guard case .refused(let error) = await events.next() else {
                Issue.record("no event")
                return
            }
            #expect(error.code == .configurationError)
        }
    }

    @Test("an authority whose configuration is older than the app's is reported once, with the remedy, and changes nothing")
    func olderAuthority() async throws {
        let keeper = try keeper(MemoryStore())
        _ = await keeper.offer([try version(7)])
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        let (five, six) = (try version(5), try version(6))
        for offered in [five, five, six] { #expect(await keeper.offer([offered]) == false) }
        for _ in 0..<2 {
            guard case .refused(let error) = await events.next() else {
                Issue.record("no event")
                return
            }
            #expect(error.description.contains("older than this app's") && error.description.contains("sdk -newEpoch"))
        }
        _ = await keeper.offer([try version(8)])
        guard case .accepted(version: 8) = await events.next() else {
            Issue.record("reported more than once")
            return
        }
    }

    @Test("a signed entry whose name became a public suffix since does not keep the app from starting, nor from taking it up")
    func becameSuffix() async throws {
        let settings = HostSettings.pinned.with { $0.includeSubdomains = true }
        let initial = try account.initial(account.configuration(hosts: ["github.io": settings, "*.co.uk": .pinned]))
        let keeper = try ConfigurationKeeper(initial: initial, store: MemoryStore(), time: clock, logger: .quiet)
        #expect(await keeper.offer([try version(7, hosts: ["github.io": settings])]))
        #expect(keeper.current.protectedHost(for: try CanonicalHost("me.github.io")) != nil)
        _ = try ApproovTrustManager().policy(protecting: keeper.current.protectedHosts)
    }

    @Test("a list is accepted whole or not at all")
    func whole() async throws {
        let keeper = try keeper(MemoryStore())
        #expect(await keeper.offer([try version(7), try version(6)]) == false)
        #expect(keeper.current.configuration.version == 1)
    }

    @Test("a store that fails keeps the old one in force, is reported, and the next offer is taken")
    func storeFails() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        store.failure.value = CocoaError(.fileWriteOutOfSpace)
        #expect(await keeper.offer([try version(7)]) == false)
        #expect(keeper.current.configuration.version == 1)
        guard case .notStored(let error) = await firstEvent(of: keeper) else {
            Issue.record("no event")
            return
        }
        #expect(error.code == .configurationError)
        store.failure.value = nil
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
    }

    @Test("a folder that cannot be used is reported as not stored, not as a refusal")
    func noFolder() async throws {
        // /proc takes no folders, whoever asks.
        let keeper = try keeper(FileConfigurationStore(directory: URL(filePath: "/proc/approov-test")))
        #expect(await keeper.offer([try version(7)]) == false)
        #expect(keeper.current.configuration.version == 1)
        guard case .notStored = await firstEvent(of: keeper) else {
            Issue.record("no event")
            return
        }
    }

    @Test("a stored configuration with any byte flipped does not serve, and is set aside or replaced by the authority's next answer")
    func flipped() async throws {
        let seven = try version(7)
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([seven])
        let sound = try #require(store.bytes)
        // The protected header names the key: a changed name may be another app's, and stays until the authority has answered.
        let header = try #require(sound.firstRange(of: Array("protected".utf8)))
        let end = try #require(sound.firstRange(of: Array("\",\"signature\":\"".utf8)))
        let names = header.upperBound..<end.lowerBound
        var leftInPlace = 0
        for index in sound.indices {
            var bytes = sound
            bytes[index] ^= 0x01
            let store = MemoryStore(bytes)
            let keeper = try keeper(store)
            #expect(keeper.current.configuration.version == 1)
            #expect(store.setAsideCount == 1 || names.contains(index))
            if store.setAsideCount == 0 { leftInPlace += 1 }
            #expect(await keeper.offer([seven]))
            #expect(store.bytes == sound, "byte \(index)")
        }
        #expect(leftInPlace > 0)
    }

    @Test("what is stored and names unknown keys, whatever version and epoch it claims, gives way to the authority's next version")
    func claims() async throws {
        let unknown = P256.Signing.PrivateKey()
        let highest: Int64 = (1 << 53) - 1
        for (version, epoch) in [(8, 1), (highest, 1), (1, highest)] {
            let claim = try SignedConfiguration(signing: account.configuration(version: version, epoch: epoch), by: [unknown]).serialized
            let store = MemoryStore(claim)
            let keeper = try keeper(store)
            #expect(await keeper.offer([]) == false)
            #expect(store.bytes == claim && store.setAsideCount == 0)
            #expect(await keeper.offer([try self.version(7)]))
            #expect(store.setAsideCount == 1 && store.storeCount == 1)
            #expect(try self.keeper(store).current.configuration.version == 7)
        }
    }

    @Test("what names unknown keys and is put in the place of the version in force while running is set aside where it claims to be older")
    func claimsWhileRunning() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        _ = await keeper.offer([try version(7)])
        let inForce = store.bytes
        let unknown = P256.Signing.PrivateKey()
        store.bytes = try SignedConfiguration(signing: account.configuration(version: 6), by: [unknown]).serialized
        #expect(await keeper.offer([]) == false)
        #expect(store.bytes == inForce && store.setAsideCount == 1)
    }

    @Test("a stored configuration that cannot be read for a moment stays in its place, at a start and while running")
    func unreadable() async throws {
        let store = MemoryStore()
        let running = try keeper(store)
        _ = await running.offer([try version(7)])
        store.readFailure.value = AttestationError(.fileUnreadable, "too many open files")
        #expect(await running.offer([try version(8)]) == false)
        #expect(running.current.configuration.version == 7)
        let started = try keeper(store)
        #expect(started.current.configuration.version == 1)
        guard case .refused = await firstEvent(of: started) else {
            Issue.record("no event")
            return
        }
        #expect(store.setAsideCount == 0)
        store.readFailure.value = nil
        #expect(try keeper(store).current.configuration.version == 7)
        #expect(await running.offer([try version(8)]))
    }

    @Test("a stored configuration cut at any length is set aside and the initial one serves")
    func truncated() async throws {
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([try version(7)])
        let sound = try #require(store.bytes)
        for count in stride(from: 0, to: sound.count, by: 11) {
            let store = MemoryStore(Array(sound[..<count]))
            let keeper = try keeper(store)
            #expect(keeper.current.configuration.version == 1)
            #expect(store.setAsideCount == 1)
        }
    }

    @Test("a stored configuration past its date stays in force")
    func expired() async throws {
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([try version(7)])
        clock.setDate(Date(timeIntervalSince1970: 1_900_000_000))
        #expect(try keeper(store).current.configuration.version == 7)
    }

    @Test("pins past their date stay in force and are reported")
    func pinsExpired() async throws {
        let keeper = try keeper(MemoryStore())
        _ = await keeper.offer([try version(7, hosts: ["api.test": .pinned.with { $0.pinsExpireAt = 1_000 }])])
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        guard case .pinsPastTheirDate(hosts: ["api.test"]) = await events.next() else {
            Issue.record("no event")
            return
        }
        let host = try CanonicalHost("api.test")
        #expect(keeper.current.protectedHost(for: host)?.rule.evaluators.first is PublicKeysTrustEvaluator)
    }

    @Test("pins whose date passes while the app runs are reported with the authority's next answer, once, and again for a new date")
    func pinsExpireWhileRunning() async throws {
        let keeper = try keeper(MemoryStore())
        let date = clock.date
        func settings(_ seconds: TimeInterval) -> [String: HostSettings] {
            ["api.test": .pinned.with { $0.pinsExpireAt = Int64(date.timeIntervalSince1970 + seconds) }]
        }
        let events = Shared<[[String]]>([])
        let stream = keeper.events.stream()
        _ = await keeper.offer([try version(7, hosts: settings(60))])
        clock.setDate(date.addingTimeInterval(59))
        _ = await keeper.offer([])
        clock.setDate(date.addingTimeInterval(61))
        _ = await keeper.offer([])
        _ = await keeper.offer([])
        _ = await keeper.offer([try version(8, hosts: settings(60).merging(["b.test": .pinned]) { $1 })])
        _ = await keeper.offer([try version(9, hosts: settings(30))])
        _ = await keeper.offer([try version(10)])
        for await event in stream {
            if case .pinsPastTheirDate(let hosts) = event { events.change { $0.append(hosts) } }
            if case .accepted(version: 10) = event { break }
        }
        #expect(events.value == [["api.test"], ["api.test"]])
    }

    /// An initial configuration of the same account whose keys are others.
    private func newerInitial(_ key: P256.Signing.PrivateKey, version: Int64) throws -> InitialConfiguration {
        try InitialConfiguration(
            account: account.name, epoch: 1, authority: try #require(URL(string: TestAccount.authority)),
            authorityPins: [TestAccount.pinA, TestAccount.pinB], trustRoots: account.root.pem, configKeys: [PublicJWK(key.publicKey)],
            configuration: try SignedConfiguration(signing: account.configuration(version: version), by: [key]))
    }

    @Test("what an app of a higher epoch stored stays, is reported, and new versions are kept in memory; a lower epoch is set aside")
    func higherEpoch() async throws {
        let newer = try account.signed(account.configuration(version: 2, epoch: 2)).serialized
        let store = MemoryStore(newer)
        let old = try keeper(store)
        guard case .refused = await firstEvent(of: old) else {
            Issue.record("no event")
            return
        }
        #expect(await old.offer([try version(7)]))
        #expect(await old.offer([try version(8)]))
        #expect(old.current.configuration.version == 8)
        #expect(store.bytes == newer && store.setAsideCount == 0 && store.storeCount == 0)

        let lower = MemoryStore(try version(9).serialized)
        _ = try ConfigurationKeeper(
            initial: account.initial(account.configuration(epoch: 2)), store: lower, time: clock, logger: .quiet)
        #expect(lower.setAsideCount == 1)
    }

    @Test("what an app with newer keys stored stays until this one has accepted those keys; both read the result")
    func newerKeys() async throws {
        let key = P256.Signing.PrivateKey()
        let change = try SignedConfiguration(
            signing: account.configuration(version: 5, configKeys: [PublicJWK(key.publicKey)]), by: [account.key, key])
        func later(_ version: Int64) throws -> SignedConfiguration {
            try SignedConfiguration(signing: account.configuration(version: version), by: [key])
        }
        let store = MemoryStore()
        let new = try ConfigurationKeeper(initial: newerInitial(key, version: 10), store: store, time: clock, logger: .quiet)
        #expect(await new.offer([try later(11)]))
        let stored = store.bytes

        let old = try keeper(store)
        #expect(old.current.configuration.version == 1)
        #expect(await old.offer([]) == false)
        #expect(store.bytes == stored && store.setAsideCount == 0)
        #expect(await old.offer([change, try later(12)]))
        #expect(store.bytes != stored && store.setAsideCount == 0)
        #expect(try keeper(store).current.configuration.version == 12)
        #expect(
            try ConfigurationKeeper(initial: newerInitial(key, version: 10), store: store, time: clock, logger: .quiet)
                .current.configuration.version == 12)
        #expect(await new.offer([]))
        #expect(new.current.configuration.version == 12)
    }

    @Test("the file replaced by an older one, or by other content, while running is reported and stored again, without a new version too")
    func writtenBack() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        _ = await keeper.offer([try version(6)])
        let old = store.bytes
        _ = await keeper.offer([try version(7)])
        let inForce = store.bytes
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        _ = await events.next()
        for other in [old, try version(7, hosts: ["other.test": .pinned]).serialized] {
            store.bytes = other
            #expect(await keeper.offer([]) == false)
            #expect(store.bytes == inForce)
            guard case .refused = await events.next() else {
                Issue.record("no event")
                return
            }
        }
        let count = store.storeCount
        #expect(await keeper.offer([]) == false)
        #expect(store.storeCount == count)
        #expect(keeper.current.configuration.version == 7)
    }

    @Test("the file replaced by an older one while running changes nothing, also when that one is offered")
    func replacedOnDisk() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        _ = await keeper.offer([try version(6)])
        let old = store.bytes
        _ = await keeper.offer([try version(7)])
        store.bytes = old
        #expect(await keeper.offer([try version(6)]) == false)
        #expect(keeper.current.configuration.version == 7)
        #expect(try self.keeper(store).current.configuration.version == 7)
        #expect(await keeper.offer([try version(8)]))
        #expect(try self.keeper(store).current.configuration.version == 8)
    }

    @Test("what another process stored meanwhile wins when it is newer")
    func otherProcess() async throws {
        let store = MemoryStore()
        let mine = try keeper(store)
        let other = try keeper(store)
        _ = await other.offer([try version(9)])
        #expect(await mine.offer([try version(8)]))
        #expect(mine.current.configuration.version == 9)
        #expect(store.storeCount == 1)
    }

    /// A store into which another process puts a sound configuration just before this one gets the lock.
    private struct RacingStore: ConfigurationStore {
        let base: MemoryStore
        let sound: [UInt8]?
        var lockFailure: CocoaError?

        func read() throws -> [UInt8]? { try base.read() }
        func store(_ bytes: [UInt8]) throws { try base.store(bytes) }
        func setAside() throws { try base.setAside() }
        func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result {
            if let lockFailure { throw lockFailure }
            if let sound { base.bytes = sound }
            return try body()
        }
    }

    @Test("a stored configuration that does not verify is looked at again under the lock before it is set aside")
    func repairedMeanwhile() async throws {
        let good = MemoryStore()
        _ = await (try keeper(good)).offer([try version(7)])
        let store = MemoryStore(Array("damaged".utf8))
        #expect(try keeper(RacingStore(base: store, sound: good.bytes)).current.configuration.version == 7)
        #expect(store.setAsideCount == 0)
    }

    @Test("without the lock nothing is moved away: another process may be writing a sound one")
    func lockedAtStart() async throws {
        let store = MemoryStore(Array("damaged".utf8))
        let keeper = try keeper(RacingStore(base: store, sound: nil, lockFailure: CocoaError(.fileLocking)))
        #expect(keeper.current.configuration.version == 1)
        #expect(store.setAsideCount == 0)
        guard case .refused = await firstEvent(of: keeper) else {
            Issue.record("no event")
            return
        }
    }

    @Test("two keepers that update one folder two hundred times: every read verifies, the highest version wins")
    func twoKeepers() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keepers = [try keeper(store), try keeper(FileConfigurationStore(directory: folder.url))]
        let versions = try (2...101).map { try version($0) }
        let initial = try account.initial()
        let finished = Shared(false)
        let reads = Task {
            var count = 0
            while !finished.value {
                if let bytes = try store.read() {
                    _ = try ConfigurationState(initial: initial, restoring: bytes)
                    count += 1
                }
                await Task.yield()
            }
            return count
        }
        await withTaskGroup(of: Void.self) { group in
            for keeper in keepers {
                group.addTask {
                    for index in versions.indices { _ = await keeper.offer([versions[index]]) }
                }
            }
        }
        finished.value = true
        #expect(try await reads.value > 0)
        #expect(keepers.allSatisfy { $0.current.configuration.version == 101 })
        #expect(try keeper(store).current.configuration.version == 101)
    }

    @Test("the authority's pins follow the configuration, and its connections stay when they do not change")
    func authorityPins() async throws {
        let keeper = try keeper(MemoryStore())
        let first = keeper.current.authorityPolicy
        _ = await keeper.offer([try version(2)])
        #expect(keeper.current.authorityPolicy === first)
        let pins = ["sha256/" + Base64.encode([UInt8](repeating: 1, count: 32)), TestAccount.pinA]
        _ = await keeper.offer([try account.signed(account.configuration(version: 3, authorityPins: pins))])
        #expect(keeper.current.authorityPolicy !== first)
    }
}
