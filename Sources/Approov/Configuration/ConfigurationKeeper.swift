import ApproovBase
import Attestation
import CertificatePinning
import Dispatch
import Foundation
import Logging
import Synchronization

/// Holds the configuration in force and decides about what is to follow it.
///
/// A new version is verified, compiled, and in force at once: a pin that it revokes must not live on because a disk is full or another
/// process holds the lock. Storing follows, and is tried again until it succeeds. What is stored and verifies is never replaced by
/// something older, and where something older was put in its place, what is in force is stored again with the next answer of the
/// authority. A higher version that another process stored is taken up.
///
/// Several versions of an app may share a store. What one of them stored for a higher epoch stays where it is, and another one, which
/// cannot use it, keeps new versions in memory. What names keys that the initial configuration does not know may be another app's or
/// altered: it stays until the authority gives this app a newer version, which then takes its place. What is damaged is set aside.
final class ConfigurationKeeper: Sendable {
    private struct State {
        var configuration: ConfigurationState
        var snapshot: ConfigurationSnapshot
        var storing = StoringState()
        /// What was found in the store last and is to stay there.
        var leftInPlace: [UInt8]?
        /// The dates of pins that were reported to be over, by host.
        var reportedDates: [String: Int64] = [:]
        /// The version that was reported to be past its date.
        var reportedExpiry: Int64?
        /// What the authority offered last that is older than what is in force.
        var reportedOlder: SignedConfiguration?
    }

    let initial: InitialConfiguration
    let events: EventStreams<ConfigurationEvent>
    /// Who hears of refusals of the authority's server.
    let authorityWatch = AuthorityWatch()
    private let authorityAnchors: TrustAnchors
    private let store: any ConfigurationStore
    private let time: any TimeSource
    private let reporter: ConfigurationReporter
    private let state: Mutex<State>
    /// The sleeping task that tries to store again.
    private let alarm = Mutex<Task<Void, Never>?>(nil)
    /// What is in force is decided here, one offer after another, and nothing here waits for another process.
    private let deciding = DispatchQueue(label: "approov.configuration")
    /// Stores block: they run here, one after another, and not on the threads of tasks.
    private let storing = DispatchQueue(label: "approov.configuration-store")

    /// Begins with what is stored, or with the initial configuration when nothing is, or what is does not verify.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when the initial configuration cannot be used.
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
            begin.accepted, initial: initial, authorityAnchors: authorityAnchors, watch: authorityWatch)
        state = Mutex(State(configuration: begin, snapshot: snapshot, leftInPlace: beginning.flaw?.leftInPlace))
        if let flaw = beginning.flaw { reporter.flaw(flaw) }
        for finding in store.tidy() { reporter.exposed(finding) }
        checkDates()
    }

    deinit {
        alarm.withLock { $0?.cancel() }
    }

    /// What holds now.
    var current: ConfigurationSnapshot { state.withLock { $0.snapshot } }

    /// Whether what is in force is past its date.
    var isExpired: Bool { state.withLock { $0.configuration }.isExpired(now: time.date) }

    /// Takes newer versions up, or refuses them whole and reports why; then looks after what is stored, unless another process does.
    ///
    /// - Returns: Whether another version is in force now than before.
    func offer(_ candidates: [SignedConfiguration]) async -> Bool {
        let isChanged = await run(on: deciding) { self.takeUp(candidates) }
        let isAdopted = await keepStored()
        // Not only of new versions: dates pass while the app runs.
        checkDates()
        return isChanged || isAdopted
    }

    /// Stores what is in force unless it is stored, waiting while another process has the store; a store that fails is not waited for.
    ///
    /// - Parameter patience: How long.
    /// - Returns: Whether it is stored now, or is to stay in memory.
    func finishStoring(within patience: Duration) async -> Bool {
        let end = time.uptime + patience
        while state.withLock({ $0.storing.isPending }) {
            await keepStored()
            let storing = state.withLock { $0.storing }
            guard storing.isPending else { break }
            guard storing.isBusy, time.uptime < end, (try? await time.sleep(for: .milliseconds(20))) != nil else { return false }
        }
        return true
    }

    /// Reports hosts whose pins are past their date, once for each host and date, and a configuration that is, once for each version.
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

// MARK: - What is in force; on the queue for decisions

extension ConfigurationKeeper {
    private func takeUp(_ candidates: [SignedConfiguration]) -> Bool {
        let before = state.withLock { $0.configuration }
        // All of them, and not just the last one: a foreign one in front of it would otherwise pass without a word.
        let isKnown = candidates.allSatisfy { $0 == before.acceptedSigned || before.chain.contains($0) }
        let stored = newerStored(than: before)
        let base = stored ?? before
        do {
            let after: ConfigurationState
            do {
                after = isKnown ? base : try accept(candidates, after: base)
            } catch {
                // Candidates that are behind what another process stored no longer matter.
                guard let stored else { throw error }
                after = stored
            }
            guard after.acceptedSigned != before.acceptedSigned else { return false }
            try putInForce(after, isStored: after.acceptedSigned == stored?.acceptedSigned)
            return true
        } catch let error as AttestationError where error.code == .rolledBack && candidates.count == 1 {
            let isKnown = state.withLock { state in
                defer { state.reportedOlder = candidates.last }
                return state.reportedOlder == candidates.last
            }
            if !isKnown { reporter.olderAuthority(error, besides: before.accepted.version) }
            return false
        } catch {
            reporter.refused(error, besides: before.accepted.version)
            return false
        }
    }

    /// What another process stored, when it is newer.
    ///
    /// Read without the lock: files are replaced as a whole.
    private func newerStored(than before: ConfigurationState) -> ConfigurationState? {
        let left = state.withLock { $0.leftInPlace }
        guard let bytes = try? store.read(), bytes != before.serializedChain, bytes != left,
            let stored = try? StoredConfiguration.restore(bytes, initial: initial), stored.accepted.version > before.accepted.version
        else { return nil }
        return stored
    }

    private func accept(_ candidates: [SignedConfiguration], after base: ConfigurationState) throws -> ConfigurationState {
        let initial = initial
        return try base.accepting(candidates, now: time.date) { try ConfigurationSnapshot.check($0, initial: initial) }
    }

    private func putInForce(_ configuration: ConfigurationState, isStored: Bool) throws {
        let snapshot = try ConfigurationSnapshot(
            configuration.accepted, initial: initial, authorityAnchors: authorityAnchors, watch: authorityWatch,
            previous: current)
        state.withLock { state in
            (state.configuration, state.snapshot) = (configuration, snapshot)
            if isStored { _ = state.storing.end() } else { state.storing.begin() }
        }
        reporter.inForce(configuration.accepted.version)
    }
}

// MARK: - What is stored; on the queue for the store

extension ConfigurationKeeper {
    /// Why the store could not be brought up to date.
    private struct StoreFailure: Error {
        let cause: any Error
    }

    /// Another process has the store.
    private struct StoreBusy: Error, CustomStringConvertible {
        var description: String { "another process has held the lock for longer than \(StoringState.patience): end that one" }
    }

    /// What is stored, beside what is in force.
    private enum Found {
        case nothing, same, outdated, newer
        case anothers(StoredConfiguration.Anothers)
    }

    /// Stores what is in force, when something else is stored or nothing yet.
    ///
    /// - Returns: Whether a newer version that another process had stored came in force.
    @discardableResult
    private func keepStored() async -> Bool {
        guard await run(on: storing, { self.lookAfterStore() }) else { return false }
        return await run(on: deciding) { self.takeUp([]) }
    }

    /// - Returns: Whether a newer version is stored, which is to be put in force.
    private func lookAfterStore() -> Bool {
        let (mine, isPending) = state.withLock { ($0.configuration, $0.storing.isPending) }
        guard isPending || isStoreChanged else { return false }
        do {
            let isNewerStored = try exclusively { try self.bringUpToDate(mine, isPending: isPending) }
            let wasReported = state.withLock { state in
                // Another version may have come in force meanwhile, and is stored after this one.
                state.configuration.acceptedSigned == mine.acceptedSigned && !isNewerStored ? state.storing.end() : false
            }
            if wasReported { reporter.stored(mine.accepted.version) }
            return isNewerStored
        } catch {
            let obstacle: StoringState.Obstacle = error is StoreBusy ? .busy : .failed
            let consequence = state.withLock { state in
                state.storing.failed(obstacle, now: time.uptime, jitter: Double.random(in: 0...1))
            }
            if consequence.isReported { reporter.notStored(mine.accepted.version, (error as? StoreFailure)?.cause ?? error) }
            storeAgain(after: consequence.retryAfter)
            return false
        }
    }

    /// Whether something else is stored than what is in force.
    ///
    /// A missing file is none: whoever removed it wants the next start to be from the beginning.
    private var isStoreChanged: Bool {
        let (mine, left) = state.withLock { ($0.configuration.serializedChain, $0.leftInPlace) }
        guard let mine, let stored = try? store.read() else { return false }
        return stored != mine && stored != left
    }

    /// Runs `body` while no other process uses the store.
    private func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
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
        case .anothers(let anothers):
            guard isPending, !anothers.isProven || mine.hasOvertaken(stored: anothers.bytes) else { break }
            if !mine.hasOvertaken(stored: anothers.bytes) {
                // The authority knows of nothing that new, or this app would have got it: whatever was stored is not the authority's.
                reporter.setAside(anothers.cause, Result { try store.setAside() })
            }
            try store(mine)
        }
        return false
    }

    private func find(besides mine: ConfigurationState, isPending: Bool) throws -> Found {
        do {
            guard let stored = try StoredConfiguration.read(from: store, initial: initial) else { return .nothing }
            if stored.accepted.version > mine.accepted.version { return .newer }
            // The versions before it may be others, of an app with another initial configuration.
            if stored.acceptedSigned.payloadBytes == mine.acceptedSigned.payloadBytes {
                let bytes = try store.read()
                state.withLock { $0.leftInPlace = bytes }
                return .same
            }
            // What was never stored was replaced by nothing.
            if !isPending { reporter.outdated(stored.accepted.version, besides: mine.accepted.version) }
            return .outdated
        } catch let anothers as StoredConfiguration.Anothers {
            // What a version replaces that is only now to be stored may have been sound: its keys may be known since.
            if !isPending, !anothers.isProven, mine.serializedChain != nil, mine.hasOvertaken(stored: anothers.bytes) {
                reporter.setAside(anothers.cause, Result { try store.setAside() })
                return .outdated
            }
            let isKnown = state.withLock { state in
                defer { state.leftInPlace = anothers.bytes }
                return state.leftInPlace == anothers.bytes
            }
            if !isKnown { reporter.anothers(anothers) }
            return .anothers(anothers)
        } catch  where StoredConfiguration.isUnreadable(error) {
            // It may be sound and newer than what would be stored over it.
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
        // What was left there before is gone: if it comes back, someone put it there.
        state.withLock { $0.leftInPlace = nil }
    }

    private func storeAgain(after delay: Duration) {
        alarm.withLock { alarm in
            alarm?.cancel()
            // Weak: a sleeping alarm must not keep alive what nobody uses any more.
            alarm = Task.detached { [weak self, time] in
                guard (try? await time.sleep(for: delay)) != nil else { return }
                await self?.keepStored()
            }
        }
    }
}
