import ApproovBase
import Attestation
import CertificatePinning
import Dispatch
import Foundation
import Logging
import Synchronization

/// Holds the configuration in force and decides which one follows it.
///
/// A new version is verified, compiled and put in force at once. Storing comes afterwards and is retried until it succeeds: a revoked pin
/// must not stay in force because the disk is full or another process holds the lock.
///
/// Several processes and several versions of an app may share a store. The keeper acts on what it finds there:
///
/// | Found in the store | Action |
/// |---|---|
/// | an older version | Overwritten with the version in force, after the authority's next answer. |
/// | a newer version | Verified and put in force. |
/// | a newer version that only a retired key signed | Set aside. |
/// | signed by this app's keys for a higher epoch | Left in place. This app keeps new versions in memory. |
/// | signed by keys that this app does not know | Left in place until the authority gives this app a newer version, which replaces it. |
/// | damaged; at a start also of an earlier epoch, or older than the initial configuration | Set aside. |
final class ConfigurationKeeper: Sendable {
    /// How often a caller that waits for the configuration to be stored looks again.
    private static let storingInterval: Duration = .milliseconds(20)

    private struct State {
        var configuration: ConfigurationState
        var snapshot: ConfigurationSnapshot
        var storing = StoringState()
        /// The bytes last found in the store that must stay there.
        var leftInPlace: [UInt8]?
        /// The expired pin dates already reported, by host.
        var reportedDates: [String: Int64] = [:]
        /// The expired version already reported.
        var reportedExpiry: Int64?
        /// The last configuration from the authority that was reported as behind the one in force.
        var reportedBehind: SignedConfiguration?
    }

    let initial: InitialConfiguration
    let events: EventStreams<ConfigurationEvent>
    /// Receives the trust refusals of connections to the authority.
    let authorityViolations = AuthorityViolationForwarder()
    private let authorityAnchors: TrustAnchors
    private let store: any ConfigurationStore
    private let time: any TimeSource
    private let reporter: ConfigurationReporter
    private let state: Mutex<State>
    /// The sleeping task that retries the store.
    private let alarm = Mutex<Task<Void, Never>?>(nil)
    /// Decides what is in force, one offer at a time, and never waits for another process.
    private let deciding = DispatchQueue(label: "approov.configuration")
    /// Runs the store's blocking calls, one at a time, away from the threads of tasks.
    private let storing = DispatchQueue(label: "approov.configuration-store")

    /// Begins with the stored configuration, or with the initial one if nothing usable is stored.
    ///
    /// - Parameters:
    ///   - initial: The initial configuration.
    ///   - store: Where the dynamic configuration is stored.
    ///   - time: The clock.
    ///   - logger: Receives the reports, which are also sent to `events`.
    /// - Throws: ``ApproovError`` with code `configurationError` when the initial configuration cannot be used.
    init(initial: InitialConfiguration, store: any ConfigurationStore, time: any TimeSource, logger: Logger) throws {
        self.initial = initial
        self.store = store
        self.time = time
        events = EventStreams(backlogLimit: 16)
        reporter = ConfigurationReporter(events: events, logger: logger)
        authorityAnchors = try initial.trustRoots.map { try TrustAnchors(pem: $0) } ?? TrustAnchors.system()
        let beginning = StoredConfiguration.beginning(with: store, initial: initial)
        let begin = try beginning.configuration ?? ConfigurationState(initial: initial)
        let snapshot = try ConfigurationSnapshot(
            begin, initial: initial, authorityAnchors: authorityAnchors, forwarder: authorityViolations)
        state = Mutex(State(configuration: begin, snapshot: snapshot, leftInPlace: beginning.flaw?.leftInPlace))
        if let flaw = beginning.flaw { reporter.flaw(flaw) }
        for finding in store.tidy() { reporter.exposed(finding) }
        checkDates()
    }

    deinit {
        alarm.withLock { $0?.cancel() }
    }

    /// The snapshot of the configuration in force.
    var current: ConfigurationSnapshot { state.withLock { $0.snapshot } }

    /// Whether the configuration in force is past its expiry date.
    var isExpired: Bool { state.withLock { $0.configuration }.isExpired(now: time.date) }

    /// Puts newer versions in force, or refuses all of them and reports why; then updates the store unless another process is using it.
    ///
    /// - Parameters:
    ///   - candidates: The configurations that the authority sent, in order: versions that change keys, then the newest.
    ///   - asked: The version that was in force when the authority was asked; nil means the present one.
    /// - Returns: Whether the version in force changed.
    func offer(_ candidates: [SignedConfiguration], askedUnder asked: Int64? = nil) async -> Bool {
        let taken = await run(on: deciding) { self.takeUp(candidates, askedUnder: asked) }
        let isAdopted = taken.isStoreUpToDate ? false : await keepStored()
        // On every offer, not only for new versions: dates pass while the app runs.
        checkDates()
        return taken.isChanged || isAdopted
    }

    /// Waits until the configuration in force is stored.
    ///
    /// Waits only while another process holds the store. If the store itself fails, it returns at once.
    ///
    /// - Parameter patience: The longest time to wait.
    /// - Returns: Whether nothing is left to store: the configuration is stored, or this app keeps it in memory only.
    func finishStoring(within patience: Duration) async -> Bool {
        let end = time.uptime + patience
        while state.withLock({ $0.storing.isPending }) {
            await keepStored()
            let storing = state.withLock { $0.storing }
            guard storing.isPending else { break }
            guard storing.isBusy, time.uptime < end, (try? await time.sleep(for: Self.storingInterval)) != nil else { return false }
        }
        return true
    }

    /// Reports hosts with expired pins, once per host and date, and an expired configuration, once per version.
    func checkDates() {
        let date = time.date
        let now = Int64(date.timeIntervalSince1970)
        let (hosts, expired) = state.withLock { state in
            let past = state.configuration.accepted.hosts.compactMapValues { settings in
                settings.pinsExpireAt.flatMap { $0 < now ? $0 : nil }
            }
            let before = (dates: state.reportedDates, expiry: state.reportedExpiry)
            let expired = state.configuration.isExpired(now: date) ? state.configuration.accepted.version : nil
            (state.reportedDates, state.reportedExpiry) = (past, expired)
            return (past.filter { before.dates[$0.key] != $0.value }.keys.sorted(), expired == before.expiry ? nil : expired)
        }
        if !hosts.isEmpty { reporter.pinsPastTheirDate(hosts) }
        if let expired { reporter.expired(expired) }
    }

    private func run<Value: Sendable>(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}

// MARK: - Deciding; on the queue `deciding`

extension ConfigurationKeeper {
    private struct Taken {
        /// Whether the version in force changed.
        var isChanged: Bool
        /// Whether the store was just seen to need no update, and so no second look.
        var isStoreUpToDate = false
    }

    private func takeUp(_ candidates: [SignedConfiguration], askedUnder asked: Int64? = nil) -> Taken {
        let (before, left, isPending) = state.withLock { ($0.configuration, $0.leftInPlace, $0.storing.isPending) }
        // Another answer may have brought the same key changes, which the keys in force cannot verify again. Only the leading ones are left
        // out: a foreign configuration in front of a known one must be reported.
        let further = Array(candidates.drop(while: before.contains))
        let bytes = try? store.read()
        let stored = newer(bytes, than: before, left: left)
        let unchanged = Taken(isChanged: false, isStoreUpToDate: !isPending && !isChange(bytes, from: before, left: left))
        do {
            let after = further.isEmpty ? stored ?? before : try newest(of: further, stored: stored, before: before)
            guard after.acceptedSigned != before.acceptedSigned else { return unchanged }
            try putInForce(after, isStored: after.acceptedSigned == stored?.acceptedSigned)
            return Taken(isChanged: true)
        } catch let error as AttestationError
            where further.count == 1 && [.rolledBack, .conflictingVersion, .unknownSigner].contains(error.code)
        {
            // The answer may be older than the version in force. If the authority really is behind, its next answer is this one again.
            if let asked, asked < before.accepted.version { return unchanged }
            let isKnown = state.withLock { state in
                defer { state.reportedBehind = further.last }
                return state.reportedBehind == further.last
            }
            if !isKnown { reporter.authorityBehind(error, besides: before.accepted.version) }
            return unchanged
        } catch {
            reporter.refused(error, besides: before.accepted.version)
            return unchanged
        }
    }

    /// Returns the newest of what the authority offers and what another process stored.
    ///
    /// - Parameters:
    ///   - candidates: The configurations that the authority offers.
    ///   - stored: The configuration that another process stored, if it is newer than the one in force.
    ///   - before: The configuration in force.
    /// - Returns: The configuration to put in force.
    /// - Throws: The error of the candidate that is refused, if no other process stored anything; otherwise the refusal is reported.
    private func newest(
        of candidates: [SignedConfiguration], stored: ConfigurationState?, before: ConfigurationState
    ) throws -> ConfigurationState {
        do {
            return try accept(candidates, after: stored ?? before)
        } catch {
            guard let stored else { throw error }
            // Candidates that another process has taken up, or that are older, no longer matter.
            guard let own = try? accept(candidates, after: before) else {
                if (error as? AttestationError)?.code != .rolledBack { reporter.refused(error, besides: stored.accepted.version) }
                return stored
            }
            if own.accepted.version > stored.accepted.version { return own }
            let isOvertaken =
                own.accepted.version < stored.accepted.version || own.acceptedSigned.payloadBytes == stored.acceptedSigned.payloadBytes
            if !isOvertaken { reporter.refused(error, besides: stored.accepted.version) }
            return stored
        }
    }

    /// Returns the version that another process stored, if it is newer.
    ///
    /// Reading the store needs no lock, because the store replaces the file as a whole.
    ///
    /// - Parameters:
    ///   - bytes: What the store holds.
    ///   - before: The version in force.
    ///   - left: The content that stays in place because it belongs to another app.
    /// - Returns: The newer version; nil if there is none.
    private func newer(_ bytes: [UInt8]?, than before: ConfigurationState, left: [UInt8]?) -> ConfigurationState? {
        guard let bytes, bytes != before.serializedChain, bytes != left,
            let stored = try? StoredConfiguration.restore(bytes, initial: initial), stored.accepted.version > before.accepted.version,
            before.isFollowed(by: stored)
        else { return nil }
        return stored
    }

    private func accept(_ candidates: [SignedConfiguration], after base: ConfigurationState) throws -> ConfigurationState {
        let initial = initial
        return try base.accepting(candidates, now: time.date) { try ConfigurationSnapshot.check($0, initial: initial) }
    }

    private func putInForce(_ configuration: ConfigurationState, isStored: Bool) throws {
        let snapshot = try ConfigurationSnapshot(
            configuration, initial: initial, authorityAnchors: authorityAnchors, forwarder: authorityViolations,
            previous: current)
        state.withLock { state in
            (state.configuration, state.snapshot) = (configuration, snapshot)
            if isStored { _ = state.storing.end() } else { state.storing.begin() }
        }
        reporter.inForce(configuration.accepted.version)
    }
}

// MARK: - Storing; on the queue `storing`

extension ConfigurationKeeper {
    /// The store could not be updated.
    private struct StoreFailure: Error {
        let cause: any Error
    }

    /// Another process holds the store.
    private struct StoreBusy: Error, CustomStringConvertible {
        var description: String { "another process has held the lock for longer than \(StoringState.patience): end that process" }
    }

    /// What the store holds, compared with the version in force.
    private enum Found {
        case nothing, same, outdated, newer
        case foreign(StoredConfiguration.ForeignConfiguration)
    }

    /// Stores the version in force if the store holds something else, or nothing yet.
    ///
    /// - Returns: Whether a newer version, stored by another process, was put in force.
    @discardableResult
    private func keepStored() async -> Bool {
        guard await run(on: storing, { self.lookAfterStore() }) else { return false }
        return await run(on: deciding) { self.takeUp([]).isChanged }
    }

    /// Compares the store with the version in force and updates it.
    ///
    /// - Returns: Whether the store holds a newer version, which the caller must put in force.
    private func lookAfterStore() -> Bool {
        let (mine, isPending) = state.withLock { ($0.configuration, $0.storing.isPending) }
        guard isPending || isStoreChanged else { return false }
        do {
            let isNewerStored = try withStoreLock { try self.bringUpToDate(mine, isPending: isPending) }
            let wasReported = state.withLock { state in
                // If another version came into force meanwhile, it is still pending and is stored next.
                state.configuration.acceptedSigned == mine.acceptedSigned && !isNewerStored ? state.storing.end() : false
            }
            if wasReported { reporter.stored(mine.accepted.version) }
            return isNewerStored
        } catch {
            let obstacle: StoringState.Obstacle = error is StoreBusy ? .busy : .failed
            let failed: StoringState.Consequence? = state.withLock { state in
                guard state.configuration.acceptedSigned == mine.acceptedSigned else { return nil }
                return state.storing.failed(obstacle, now: time.uptime, jitter: Double.random(in: 0...1))
            }
            // Another version came into force meanwhile, and is stored next.
            guard let consequence = failed else { return false }
            if consequence.isReported { reporter.notStored(mine.accepted.version, (error as? StoreFailure)?.cause ?? error) }
            storeAgain(after: consequence.retryAfter)
            return false
        }
    }

    /// Whether the store holds something other than the version in force.
    private var isStoreChanged: Bool {
        let (mine, left) = state.withLock { ($0.configuration, $0.leftInPlace) }
        return isChange(try? store.read(), from: mine, left: left)
    }

    /// Whether bytes from the store are something other than the version in force.
    ///
    /// A missing file is not a change: deleting it is how an operator resets the app at its next start.
    private func isChange(_ bytes: [UInt8]?, from mine: ConfigurationState, left: [UInt8]?) -> Bool {
        guard let bytes, let mine = mine.serializedChain else { return false }
        return bytes != mine && bytes != left
    }

    /// Runs `body` while no other process uses the store.
    private func withStoreLock<Value>(_ body: () throws -> Value) throws -> Value {
        let result: Result<Value, any Error>?
        do {
            result = try store.withExclusiveAccessIfFree { Result { try body() } }
        } catch {
            throw StoreFailure(cause: error)
        }
        guard let result else { throw StoreBusy() }
        return try result.get()
    }

    private func bringUpToDate(_ mine: ConfigurationState, isPending: Bool) throws -> Bool {
        switch try find(besides: mine, isPending: isPending) {
        case .newer:
            return true
        case .same:
            break
        case .outdated:
            try store(mine)
        case .nothing:
            if isPending { try store(mine) }
        case .foreign(let foreign):
            guard isPending, !foreign.isProven || mine.hasOvertaken(stored: foreign.bytes) else { break }
            if !mine.hasOvertaken(stored: foreign.bytes) {
                // The stored one claims to be newer than the version that the authority just gave this app: it is not the authority's.
                reporter.setAside(foreign.cause, Result { try store.setAside() })
            }
            try store(mine)
        }
        return false
    }

    private func find(besides mine: ConfigurationState, isPending: Bool) throws -> Found {
        do {
            guard let stored = try StoredConfiguration.read(from: store, initial: initial) else { return .nothing }
            if stored.accepted.version > mine.accepted.version {
                guard mine.hasLaterKeys(than: stored), !mine.isFollowed(by: stored) else { return .newer }
                let settingAside = Result { try store.setAside() }
                reporter.setAside(
                    AttestationError(.unknownSigner, "version \(stored.accepted.version) is signed by a retired key"), settingAside)
                if case .failure(let error) = settingAside { throw StoreFailure(cause: error) }
                return .outdated
            }
            // Compare only the newest payload: an app with another initial configuration may have a different chain before it.
            if stored.acceptedSigned.payloadBytes == mine.acceptedSigned.payloadBytes {
                let bytes = try store.read()
                state.withLock { $0.leftInPlace = bytes }
                return .same
            }
            // While our version is still unstored, the stored one is merely its predecessor: nothing to report.
            if !isPending { reporter.outdated(stored.accepted.version, besides: mine.accepted.version) }
            return .outdated
        } catch let foreign as StoredConfiguration.ForeignConfiguration {
            // A pending version overwrites it without a report: it may have been valid, with keys that a later key change introduced.
            if !isPending, !foreign.isProven, mine.serializedChain != nil, mine.hasOvertaken(stored: foreign.bytes) {
                reporter.setAside(foreign.cause, Result { try store.setAside() })
                return .outdated
            }
            let isKnown = state.withLock { state in
                defer { state.leftInPlace = foreign.bytes }
                return state.leftInPlace == foreign.bytes
            }
            if !isKnown { reporter.foreign(foreign) }
            return .foreign(foreign)
        } catch  where StoredConfiguration.isUnreadable(error) {
            // The store may hold a valid, newer version: do not overwrite it.
            throw StoreFailure(cause: error)
        } catch {
            reporter.setAside(error, Result { try store.setAside() })
            return .outdated
        }
    }

    private func store(_ configuration: ConfigurationState) throws {
        guard let bytes = configuration.serializedChain else { return }
        do {
            try store.store(bytes)
        } catch {
            throw StoreFailure(cause: error)
        }
        // If the bytes that were left in place come back, another process put them there again.
        state.withLock { $0.leftInPlace = nil }
    }

    private func storeAgain(after delay: Duration) {
        alarm.withLock { alarm in
            alarm?.cancel()
            // Weak, so that the sleeping alarm does not keep an unused keeper alive.
            alarm = Task.detached { [weak self, time] in
                guard (try? await time.sleep(for: delay)) != nil else { return }
                await self?.keepStored()
            }
        }
    }
}
