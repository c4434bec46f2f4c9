import ApproovBase
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
        try ConfigurationKeeper(initial: account.initial(), store: store, time: clock, logger: .silent)
    }

    private func version(_ version: Int64, hosts: [String: HostSettings] = ["new.test": .pinned]) throws -> SignedConfiguration {
        try account.signed(account.configuration(version: version, hosts: hosts))
    }

    /// A new key, and version 5, which changes the account's key to it.
    private func keyChange() throws -> (key: P256.Signing.PrivateKey, change: SignedConfiguration) {
        let key = P256.Signing.PrivateKey()
        let configuration = account.configuration(version: 5, configKeys: [PublicJWK(key.publicKey)])
        return (key, try SignedConfiguration(signing: configuration, by: [account.key, key]))
    }

    private func firstEvent(of keeper: ConfigurationKeeper) async -> ConfigurationEvent? {
        var events = keeper.events.stream().makeAsyncIterator()
        return await events.next()
    }

    @Test("A newer version takes effect, is stored and announced, and is used after a restart")
    func accepts() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
        #expect(keeper.current.protectedHost(for: try CanonicalHost("new.test")) != nil)
        #expect(keeper.current.protectedHost(for: try CanonicalHost("api.test")) == nil)
        #expect(store.storeCount == 1)
        #expect(await firstEvent(of: keeper)?.accepted == 7)
        // A restart begins with it.
        #expect(try self.keeper(store).current.configuration.version == 7)
    }

    @Test("Offering the current version again changes nothing, stores nothing and reads the store only once")
    func same() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        let seven = try version(7)
        _ = await keeper.offer([seven])
        let before = keeper.current
        let reads = store.reads.value
        #expect(await keeper.offer([seven]) == false)
        #expect(keeper.current === before)
        #expect(store.storeCount == 1 && store.reads.value == reads + 1, "every token fetch offers the version, so an offer must be cheap")
    }

    @Test("A version that is older, expired, signed by another key, of another epoch or invalid is refused and reported")
    func refuses() async throws {
        let other = try TestAccount()
        let good = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        // A list whose second entry is malformed, a list of only unknown kinds of keys, and bytes that are not a list.
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
            let error = try #require(await events.next()?.refusal)
            #expect(error.code == .configurationError)
        }
    }

    @Test("Each older version that the authority offers is refused, and reported once with the remedy `sdk -newEpoch`")
    func olderAuthority() async throws {
        let keeper = try keeper(MemoryStore())
        _ = await keeper.offer([try version(7)])
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        let (five, six) = (try version(5), try version(6))
        for offered in [five, five, six] { #expect(await keeper.offer([offered]) == false) }
        for _ in 0..<2 {
            let error = try #require(await events.next()?.refusal)
            #expect(error.description.contains("older than this app's") && error.description.contains("sdk -newEpoch"))
        }
        _ = await keeper.offer([try version(8)])
        #expect(await events.next()?.accepted == 8)
    }

    @Test("An older answer is not reported if the authority was asked before a newer version came into force")
    func lateAnswer() async throws {
        let keeper = try keeper(MemoryStore())
        let five = try version(5)
        #expect(await keeper.offer([try version(6)], askedUnder: 1))
        #expect(await keeper.offer([five], askedUnder: 1) == false)
        #expect(keeper.current.configuration.version == 6)
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 6")
        #expect(await keeper.offer([try version(7)], askedUnder: 6))
        #expect(await next(&events) == "accepted 7")
        // Now the authority really is behind.
        #expect(await keeper.offer([five], askedUnder: 7) == false)
        #expect(await next(&events) == "refused")
    }

    @Test("Two answers with the same key change are taken up one after the other, and late answers with retired keys are not reported")
    func overlappingAnswers() async throws {
        let (key, change) = try keyChange()
        func later(_ version: Int64) throws -> SignedConfiguration {
            try SignedConfiguration(signing: account.configuration(version: version), by: [key])
        }
        let store = MemoryStore()
        let keeper = try keeper(store)
        let six = try later(6)
        #expect(await keeper.offer([change, six], askedUnder: 1))
        #expect(await keeper.offer([change, try later(7)], askedUnder: 1))
        #expect(try self.keeper(store).current.configuration.version == 7)
        #expect(await keeper.offer([change, six], askedUnder: 1) == false)
        #expect(await keeper.offer([try version(4)], askedUnder: 1) == false)
        #expect(await keeper.offer([try later(8)], askedUnder: 7))
        var events = keeper.events.stream().makeAsyncIterator()
        for version in 6...8 { #expect(await next(&events) == "accepted \(version)") }
    }

    @Test("Another configuration with the version in force is refused, and reported once with the remedy `sdk -newEpoch`")
    func conflictingAuthority() async throws {
        let keeper = try keeper(MemoryStore())
        let seven = try version(7)
        _ = await keeper.offer([seven])
        #expect(keeper.current.payloadHash == seven.payloadHash)
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        let other = try version(7, hosts: ["other.test": .pinned])
        for _ in 0..<3 { #expect(await keeper.offer([other]) == false) }
        #expect(keeper.current.payloadHash == seven.payloadHash)
        let error = try #require(await events.next()?.refusal)
        #expect(error.description.contains("same version as this app's") && error.description.contains("sdk -newEpoch"))
        _ = await keeper.offer([try version(8)])
        #expect(await events.next()?.accepted == 8)
    }

    @Test("A configuration that no known key signed is refused, and reported once with the remedy `sdk -newEpoch`")
    func lostKeyChange() async throws {
        let keeper = try keeper(MemoryStore())
        let other = try TestAccount()
        let foreign = try other.signed(other.configuration(version: 9))
        var events = keeper.events.stream().makeAsyncIterator()
        for _ in 0..<3 { #expect(await keeper.offer([foreign]) == false) }
        let error = try #require(await events.next()?.refusal)
        #expect(error.description.contains("no key that this app knows") && error.description.contains("sdk -newEpoch"))
        _ = await keeper.offer([try version(7)])
        #expect(await events.next()?.accepted == 7)
    }

    @Test("A signed host that has become a public suffix since then prevents neither the app's start nor an update")
    func becameSuffix() async throws {
        let settings = HostSettings.pinned.with { $0.includeSubdomains = true }
        let initial = try account.initial(account.configuration(hosts: ["github.io": settings, "*.co.uk": .pinned]))
        let keeper = try ConfigurationKeeper(initial: initial, store: MemoryStore(), time: clock, logger: .silent)
        #expect(await keeper.offer([try version(7, hosts: ["github.io": settings])]))
        #expect(keeper.current.protectedHost(for: try CanonicalHost("me.github.io")) != nil)
        _ = try ApproovTrustManager().policy(protecting: keeper.current.protectedHosts)
    }

    @Test("A list of versions is accepted completely or not at all")
    func whole() async throws {
        let keeper = try keeper(MemoryStore())
        #expect(await keeper.offer([try version(7), try version(6)]) == false)
        #expect(keeper.current.configuration.version == 1)
    }

    /// The next event as a short text.
    private func next(_ events: inout AsyncStream<ConfigurationEvent>.Iterator) async -> String {
        switch await events.next() {
        case .accepted(let version): "accepted \(version)"
        case .refused: "refused"
        case .notStored: "not stored"
        case .setAside: "set aside"
        case .exposed: "exposed"
        case .pinsPastTheirDate: "pins past their date"
        case .expired(let version): "expired \(version)"
        case nil: "ended"
        }
    }

    @Test("A version that cannot be stored takes effect at once, is reported once, and is stored by a later retry")
    func storeFails() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        var events = keeper.events.stream().makeAsyncIterator()
        store.failure.value = CocoaError(.fileWriteOutOfSpace)
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
        #expect(await next(&events) == "accepted 7")
        let error = try #require(await events.next()?.storingFailure)
        #expect(error.code == .configurationError && error.message.contains("version 7 is in force"))
        #expect(try self.keeper(store).current.configuration.version == 1)
        // The first retry fails too, and the second one succeeds.
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        #expect(await eventually { store.attempts.value == 2 })
        await clock.sleepers(atLeast: 1)
        store.failure.value = nil
        clock.advance(by: .seconds(2))
        #expect(await eventually { store.storeCount == 1 })
        #expect(try self.keeper(store).current.configuration.version == 7)
        #expect(await keeper.offer([try version(8)]))
        #expect(await next(&events) == "accepted 8")
    }

    @Test("The next offer stores a version that could not be stored, and does not report the older file as a replacement")
    func storedWithNextOffer() async throws {
        let store = MemoryStore()
        let keeper = try keeper(store)
        _ = await keeper.offer([try version(6)])
        store.failure.value = CocoaError(.fileWriteOutOfSpace)
        #expect(await keeper.offer([try version(7)]))
        store.failure.value = nil
        #expect(await keeper.offer([]) == false)
        #expect(try self.keeper(store).current.configuration.version == 7)
        var events = keeper.events.stream().makeAsyncIterator()
        for expected in ["accepted 6", "accepted 7", "not stored"] { #expect(await next(&events) == expected) }
        #expect(await keeper.offer([try version(8)]))
        #expect(await next(&events) == "accepted 8")
    }

    @Test("If the folder cannot be used, a new version takes effect at once and is reported as not stored, not as refused")
    func noFolder() async throws {
        // Even root cannot create folders in /proc.
        let keeper = try keeper(FileConfigurationStore(directory: URL(filePath: "/proc/approov-test")))
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 7")
        #expect(await next(&events) == "not stored")
    }

    @Test("A new version takes effect despite a held lock, is reported as not stored, and is stored once the lock is free")
    func locked() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        var events = keeper.events.stream().makeAsyncIterator()
        let held = try HeldLock(folder.path(FileConfigurationStore.lockFileName))
        #expect(await keeper.offer([try version(7)]))
        #expect(keeper.current.configuration.version == 7)
        #expect(await next(&events) == "accepted 7")
        #expect(try store.read() == nil)
        // Six attempts, each after a slightly longer wait.
        for _ in 0..<6 {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(2))
        }
        #expect(await next(&events) == "not stored")
        // Wait for the retry to sleep before the lock is released: the attempt that finds the lock free schedules no further one.
        await clock.sleepers(atLeast: 1)
        held.release()
        clock.advance(by: .seconds(60))
        #expect(await eventually { (try? store.read()) != nil })
        #expect(try self.keeper(store).current.configuration.version == 7)
    }

    @Test("`finishStoring` waits until the configuration is stored, but does not wait for a store that fails")
    func finishStoring() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        let held = try HeldLock(folder.path(FileConfigurationStore.lockFileName))
        #expect(await keeper.offer([try version(7)]))
        let outcome = Shared<Bool?>(nil)
        // Longer than the loop below can ever advance the clock.
        let waiting = Task { outcome.value = await keeper.finishStoring(within: .seconds(1_000_000)) }
        // One sleeper is the retry, the other is `finishStoring`.
        await clock.sleepers(atLeast: 2)
        #expect(outcome.value == nil)
        held.release()
        while outcome.value == nil {
            clock.advance(by: .milliseconds(20))
            await Task.yield()
        }
        await waiting.value
        #expect(outcome.value == true)
        #expect(try store.read() != nil)

        let failing = MemoryStore()
        failing.failure.value = CocoaError(.fileWriteOutOfSpace)
        let unstored = try self.keeper(failing)
        #expect(await unstored.offer([try version(7)]))
        #expect(await unstored.finishStoring(within: .seconds(5)) == false)
    }

    @Test("The keeper adopts a higher version that another process stored, although the lock is held")
    func newerWhileLocked() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        let other = try self.keeper(store)
        #expect(await other.offer([try version(9)]))
        let held = try HeldLock(folder.path(FileConfigurationStore.lockFileName))
        #expect(await keeper.offer([try version(8)]))
        #expect(keeper.current.configuration.version == 9)
        held.release()
    }

    @Test("The keeper does not adopt a stored version that only a retired key signed")
    func retiredKey() async throws {
        let (key, change) = try keyChange()
        let six = try SignedConfiguration(signing: account.configuration(version: 6), by: [key])
        let store = MemoryStore()
        let keeper = try keeper(store)
        #expect(await keeper.offer([change, six]))
        _ = await keeper.finishStoring(within: .seconds(5))
        // An attacker has the retired key, and may write the file.
        try store.store(version(9).serialized)
        #expect(await keeper.offer([change, six]) == false)
        #expect(keeper.current.configuration.version == 6)
        // It does not keep the next version out of the store either.
        let seven = try SignedConfiguration(signing: account.configuration(version: 7), by: [key])
        #expect(await keeper.offer([seven]))
        #expect(await keeper.finishStoring(within: .seconds(5)))
        #expect(try self.keeper(store).current.configuration.version == 7)
    }

    @Test("A list with a key change is put in force although another process has stored that change with an older version")
    func newerThanStored() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        let (key, change) = try keyChange()
        let other = try self.keeper(store)
        #expect(await other.offer([change, try SignedConfiguration(signing: account.configuration(version: 6), by: [key])]))
        #expect(await other.finishStoring(within: .seconds(5)))
        #expect(await keeper.offer([change, try SignedConfiguration(signing: account.configuration(version: 8), by: [key])]))
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 8")
        #expect(await keeper.finishStoring(within: .seconds(5)))
        #expect(try self.keeper(store).current.configuration.version == 8)
    }

    @Test("A key change that another process has taken up already is refused in neither process")
    func sharedKeyChange() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        let (key, change) = try keyChange()
        let six = try SignedConfiguration(signing: account.configuration(version: 6), by: [key])
        let other = try self.keeper(store)
        #expect(await other.offer([change, six]))
        #expect(await other.finishStoring(within: .seconds(5)))
        #expect(await keeper.offer([change, six]))
        #expect(await keeper.offer([try SignedConfiguration(signing: account.configuration(version: 7), by: [key])]))
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 6")
        #expect(await next(&events) == "accepted 7")
    }

    @Test("A forged candidate is reported although another process has stored a newer version, which is adopted")
    func forgedBesideNewer() async throws {
        let folder = try TemporaryFolder()
        let store = FileConfigurationStore(directory: folder.url)
        let keeper = try keeper(store)
        #expect(try await self.keeper(store).offer([version(9)]))
        let foreign = try TestAccount()
        #expect(await keeper.offer([try foreign.signed(foreign.configuration(version: 10))]))
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "refused")
        #expect(await next(&events) == "accepted 9")
    }

    @Test("A list that ends with the current version but begins with a foreign one is refused and reported")
    func foreignBeforeCurrent() async throws {
        let foreign = try TestAccount()
        let keeper = try keeper(MemoryStore())
        let seven = try version(7)
        _ = await keeper.offer([seven])
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 7")
        #expect(await keeper.offer([try foreign.signed(foreign.configuration(version: 8)), seven]) == false)
        #expect(await keeper.offer([try version(8)]))
        #expect(await next(&events) == "refused")
        #expect(await next(&events) == "accepted 8")
    }

    @Test("Offering a key change together with the current version again changes and reports nothing")
    func chainAgain() async throws {
        let (key, change) = try keyChange()
        let six = try SignedConfiguration(signing: account.configuration(version: 6), by: [key])
        let keeper = try keeper(MemoryStore())
        #expect(await keeper.offer([change, six]))
        #expect(await keeper.offer([change, six]) == false)
        #expect(await keeper.offer([try SignedConfiguration(signing: account.configuration(version: 7), by: [key])]))
        var events = keeper.events.stream().makeAsyncIterator()
        #expect(await next(&events) == "accepted 6")
        #expect(await next(&events) == "accepted 7")
    }

    @Test("An expired configuration is reported once and keeps its pins; a newer version with the same content is accepted")
    func expiredWhileRunning() async throws {
        let keeper = try keeper(MemoryStore())
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await keeper.offer([try version(7)])
        #expect(await next(&events) == "accepted 7")
        #expect(!keeper.isExpired)
        clock.setDate(Date(timeIntervalSince1970: 1_760_000_001))
        keeper.checkDates()
        keeper.checkDates()
        #expect(keeper.isExpired)
        #expect(keeper.current.protectedHost(for: try CanonicalHost("new.test"))?.settings.pins == HostSettings.pinned.pins)
        let again = account.configuration(
            version: 8, hosts: ["new.test": .pinned], issuedAt: 1_760_000_000, expiresAt: 1_770_000_000)
        #expect(await keeper.offer([try account.signed(again)]))
        #expect(!keeper.isExpired)
        #expect(await next(&events) == "expired 7")
        #expect(await next(&events) == "accepted 8")
    }

    @Test("A start reports an expired stored configuration, and the initial configuration never expires")
    func expiredAtStart() async throws {
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([try version(7)])
        clock.setDate(Date(timeIntervalSince1970: 1_900_000_000))
        var events = try keeper(store).events.stream().makeAsyncIterator()
        #expect(await next(&events) == "expired 7")
        let initial = try keeper(MemoryStore())
        #expect(!initial.isExpired)
    }

    @Test("A stored configuration with a flipped bit is never used, and the authority's next answer replaces it")
    func flipped() async throws {
        let seven = try version(7)
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([seven])
        let sound = try #require(store.bytes)
        // The protected header names the key. A changed name may belong to another app, so the file stays until the authority answers.
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

    @Test("The authority's next version replaces a stored one signed by unknown keys, whatever version and epoch it claims")
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

    @Test("A running app sets aside a file that unknown keys signed with an older version, and stores its own again")
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

    @Test("A stored configuration that is temporarily unreadable stays in place, at start and while the app runs")
    func unreadable() async throws {
        let store = MemoryStore()
        let running = try keeper(store)
        _ = await running.offer([try version(7)])
        store.readFailure.value = FileError(.fileUnreadable, "too many open files")
        #expect(await running.offer([try version(8)]))
        #expect(running.current.configuration.version == 8)
        #expect(store.storeCount == 1)
        let started = try keeper(store)
        #expect(started.current.configuration.version == 1)
        #expect(await firstEvent(of: started)?.refusal != nil)
        #expect(store.setAsideCount == 0)
        store.readFailure.value = nil
        #expect(try keeper(store).current.configuration.version == 7)
        #expect(await running.offer([]) == false)
        #expect(try keeper(store).current.configuration.version == 8)
    }

    @Test("A truncated stored configuration is set aside, and the initial one is used")
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

    @Test("An expired stored configuration stays in force")
    func expired() async throws {
        let store = MemoryStore()
        _ = await (try keeper(store)).offer([try version(7)])
        clock.setDate(Date(timeIntervalSince1970: 1_900_000_000))
        #expect(try keeper(store).current.configuration.version == 7)
    }

    @Test("Pins past their expiry date stay in force and are reported")
    func pinsExpired() async throws {
        let keeper = try keeper(MemoryStore())
        _ = await keeper.offer([try version(7, hosts: ["api.test": .pinned.with { $0.pinsExpireAt = 1_000 }])])
        var events = keeper.events.stream().makeAsyncIterator()
        _ = await events.next()
        #expect(await events.next()?.pinsPastTheirDate == ["api.test"])
        let host = try CanonicalHost("api.test")
        #expect(keeper.current.protectedHost(for: host)?.rule.evaluators.first is PublicKeysTrustEvaluator)
    }

    @Test("Pins that expire while the app runs are reported with the authority's next answer, once per expiry date")
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

    /// An initial configuration of the same account with another signing key.
    private func newerInitial(_ key: P256.Signing.PrivateKey, version: Int64, epoch: Int64 = 1) throws -> InitialConfiguration {
        try InitialConfiguration(
            account: account.name, epoch: epoch, authority: try #require(URL(string: TestAccount.authority)),
            authorityPins: [TestAccount.pinA, TestAccount.pinB], trustRoots: account.root.pem, configKeys: [PublicJWK(key.publicKey)],
            configuration: try SignedConfiguration(signing: account.configuration(version: version, epoch: epoch), by: [key]))
    }

    @Test("A file of a higher epoch is reported and kept, new versions stay in memory, and a file of a lower epoch is set aside")
    func higherEpoch() async throws {
        let newer = try account.signed(account.configuration(version: 2, epoch: 2)).serialized
        let store = MemoryStore(newer)
        let old = try keeper(store)
        #expect(await firstEvent(of: old)?.refusal != nil)
        #expect(await old.offer([try version(7)]))
        #expect(await old.offer([try version(8)]))
        #expect(old.current.configuration.version == 8)
        #expect(store.bytes == newer && store.setAsideCount == 0 && store.storeCount == 0)

        let lower = MemoryStore(try version(9).serialized)
        let updated = try ConfigurationKeeper(
            initial: account.initial(account.configuration(epoch: 2)), store: lower, time: clock, logger: .silent)
        #expect(lower.setAsideCount == 1)
        guard case .setAside(let error) = await firstEvent(of: updated) else { return #expect(Bool(false), "no event") }
        #expect(error.message == "the stored configuration says that it is of an earlier epoch than the initial one and was set aside")
    }

    @Test("A file of a lower epoch, whose keys are no longer known, is no error, but one that cannot be set aside is")
    func newEpoch() async throws {
        let initial = try newerInitial(P256.Signing.PrivateKey(), version: 1, epoch: 2)
        for isLocked in [false, true] {
            let (store, log) = (MemoryStore(try version(9).serialized), LogRecord())
            if isLocked { store.setAsideFailure.value = FileError(.fileWriteFailed, "the disk is full") }
            let keeper = try ConfigurationKeeper(initial: initial, store: store, time: clock, logger: log.logger)
            #expect(keeper.current.configuration.epoch == 2 && keeper.current.configuration.version == 1)
            #expect(store.setAsideCount == (isLocked ? 0 : 1))
            let line = try #require(log.lines.first { $0.contains("stored configuration not used") })
            #expect(line.hasPrefix(isLocked ? "error" : "notice") && line.contains("is of an earlier epoch than the initial one"))
        }
    }

    @Test("A file by an app with newer keys is kept until this app accepts those keys; both apps can read the result")
    func newerKeys() async throws {
        let (key, change) = try keyChange()
        func later(_ version: Int64) throws -> SignedConfiguration {
            try SignedConfiguration(signing: account.configuration(version: version), by: [key])
        }
        let store = MemoryStore()
        let new = try ConfigurationKeeper(initial: newerInitial(key, version: 10), store: store, time: clock, logger: .silent)
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
            try ConfigurationKeeper(initial: newerInitial(key, version: 10), store: store, time: clock, logger: .silent)
                .current.configuration.version == 12)
        #expect(await new.offer([]))
        #expect(new.current.configuration.version == 12)
    }

    @Test("A running app reports a file that was replaced with older or other content, and stores the current version again")
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
            #expect(await events.next()?.refusal != nil)
        }
        let count = store.storeCount
        #expect(await keeper.offer([]) == false)
        #expect(store.storeCount == count)
        #expect(keeper.current.configuration.version == 7)
    }

    @Test("A file replaced with an older version while the app runs does not downgrade it, even if that version is offered")
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

    @Test("A newer version that another process stored in the meantime takes precedence")
    func otherProcess() async throws {
        let store = MemoryStore()
        let mine = try keeper(store)
        let other = try keeper(store)
        _ = await other.offer([try version(9)])
        #expect(await mine.offer([try version(8)]))
        #expect(mine.current.configuration.version == 9)
        #expect(store.storeCount == 1)
    }

    /// A store in which another process stores a valid configuration just before this process gets the lock.
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

    @Test("A stored configuration that does not verify is read again under the lock before it is set aside")
    func repairedMeanwhile() async throws {
        let good = MemoryStore()
        _ = await (try keeper(good)).offer([try version(7)])
        let store = MemoryStore(Array("damaged".utf8))
        #expect(try keeper(RacingStore(base: store, sound: good.bytes)).current.configuration.version == 7)
        #expect(store.setAsideCount == 0)
    }

    @Test("Without the lock, a damaged file is reported but not set aside: another process may be writing a valid one")
    func lockedAtStart() async throws {
        let store = MemoryStore(Array("damaged".utf8))
        let keeper = try keeper(RacingStore(base: store, sound: nil, lockFailure: CocoaError(.fileLocking)))
        #expect(keeper.current.configuration.version == 1)
        #expect(store.setAsideCount == 0)
        #expect(await firstEvent(of: keeper)?.refusal != nil)
    }

    @Test("While two keepers update one folder 200 times, every read verifies, and the highest version wins")
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

    @Test("The authority's trust policy changes only if a new configuration changes the authority's pins")
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
