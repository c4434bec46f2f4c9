import Attestation
import CertificatePinning
import Dispatch
import Foundation
import Logging
import Synchronization

/// Holds the configuration in force and decides about what is to follow it.
///
/// A new version is verified, compiled, stored, and only then put in force. What is stored and verifies is never replaced by something
/// older, and where something older was put in its place, what is in force is stored again with the next answer of the authority.
///
/// Several versions of an app may share a store. What one of them stored for a higher epoch stays where it is, and another one, which
/// cannot use it, keeps new versions in memory. What names keys that the initial configuration does not know may be another app's or
/// altered: it stays until the authority gives this app a newer version, which then takes its place. What is damaged is set aside.
final class ConfigurationKeeper: Sendable {
    private struct State {
        var configuration: ConfigurationState
        var snapshot: ConfigurationSnapshot
        /// What was found in the store last and is to stay there.
        var leftInPlace: [UInt8]?
        /// The dates of pins that were reported to be over, by host.
        var reportedDates: [String: Int64] = [:]
        /// What the authority offered last that is older than what is in force.
        var reportedOlder: SignedConfiguration?
    }

    let initial: InitialConfiguration
    let events = EventStreams<ConfigurationEvent>(backlogLimit: 16)
    /// Who hears of refusals of the authority's server.
    let authorityWatch = AuthorityWatch()
    private let authorityAnchors: TrustAnchors
    private let store: any ConfigurationStore
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>
    /// Stores block: they run here, one after another, and not on the threads of tasks.
    private let queue = DispatchQueue(label: "approov.configuration")

    /// Begins with what is stored, or with the initial configuration when nothing is, or what is does not verify.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when the initial configuration cannot be used.
    init(initial: InitialConfiguration, store: any ConfigurationStore, time: any TimeSource, logger: Logger) throws {
        self.initial = initial
        self.store = store
        self.time = time
        self.logger = logger
        authorityAnchors = try initial.trustRoots.map { try TrustAnchors(pem: $0) } ?? TrustAnchors.system()
        let beginning = Self.beginning(with: store, initial: initial)
        let begin = try beginning.configuration ?? ConfigurationState(initial: initial)
        let snapshot = try ConfigurationSnapshot(
            begin.accepted, initial: initial, authorityAnchors: authorityAnchors, watch: authorityWatch)
        state = Mutex(State(configuration: begin, snapshot: snapshot, leftInPlace: beginning.flaw?.leftInPlace))
        if let flaw = beginning.flaw { report(flaw) }
        reportDates()
    }

    /// What holds now.
    var current: ConfigurationSnapshot { state.withLock { $0.snapshot } }

    /// Takes newer versions up, or refuses them whole and reports why; without any, looks after what is stored.
    ///
    /// - Returns: Whether another version is in force now than before.
    func offer(_ candidates: [SignedConfiguration]) async -> Bool {
        await withCheckedContinuation { continuation in
            queue.async {
                let inForce = self.state.withLock { $0.configuration.acceptedSigned }
                let newer = candidates.last == inForce ? [] : candidates
                let isChanged = (!newer.isEmpty || self.isStoreChanged) && self.take(newer)
                // Not only of new versions: dates pass while the app runs.
                self.reportDates()
                continuation.resume(returning: isChanged)
            }
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

    private func take(_ candidates: [SignedConfiguration]) -> Bool {
        let before = state.withLock { $0.configuration }
        do {
            let after = try exclusively { try follow(before, with: candidates) }
            guard after.acceptedSigned != before.acceptedSigned else { return false }
            try putInForce(after)
            return true
        } catch let error as StoreFailure {
            let reported = ApproovError(
                .configurationError, "a new configuration could not be stored and is not used; version \(before.accepted.version) stays",
                cause: error.cause)
            logger.error("configuration not stored", metadata: ["error": "\(reported)"])
            events.send(.notStored(reported))
        } catch let error as AttestationError where error.code == .rolledBack && candidates.count == 1 {
            reportOlder(candidates.last, than: before.accepted.version, error)
        } catch {
            let reported = ApproovError(
                .configurationError, "a configuration was refused; version \(before.accepted.version) stays in force", cause: error)
            logger.error("configuration refused", metadata: ["error": "\(reported)"])
            events.send(.refused(reported))
        }
        return false
    }

    /// Reports an authority that is behind this app, once for each version that it offers.
    private func reportOlder(_ offered: SignedConfiguration?, than version: Int64, _ cause: AttestationError) {
        let isKnown = state.withLock { state in
            defer { state.reportedOlder = offered }
            return state.reportedOlder == offered
        }
        guard !isKnown else { return }
        let reported = ApproovError(
            .configurationError,
            "the authority's configuration is older than this app's; version \(version) stays in force, and no change reaches this app. "
                + "If the authority came back from an older backup, its operator begins a new epoch (approov sdk -newEpoch) and ships a new "
                + "initial configuration", cause: cause)
        logger.error("the authority's configuration is older", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// Runs `body` while no other process uses the store; what keeps the store from it is told apart from what `body` throws.
    private func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
        let result: Result<Value, any Error>
        do {
            result = try store.withExclusiveAccess { Result { try body() } }
        } catch {
            throw StoreFailure(cause: error)
        }
        return try result.get()
    }

    /// What is in force after the candidates; stored when it was not already.
    private func follow(_ before: ConfigurationState, with candidates: [SignedConfiguration]) throws -> ConfigurationState {
        let found = try find(since: before)
        // Another process may have been here first: the higher version wins, and what it stored is not stored over.
        let base = if case .newer(let other) = found { other } else { before }
        if case .outdated = found { try store(before) }
        let next: ConfigurationState
        switch Result(catching: { try accept(candidates, after: base) }) {
        case .success(let accepted): next = accepted
        case .failure(let error):
            // Candidates that are behind what the other process stored no longer matter.
            guard case .newer = found else { throw error }
            return base
        }
        guard next.acceptedSigned != base.acceptedSigned else { return next }
        if case .anothers(let anothers) = found, !next.hasOvertaken(stored: anothers.bytes) {
            if anothers.isProven { return next }
            // The authority knows of nothing that new, or this app would have got it: whatever was stored is not the authority's.
            report(setAside: anothers.cause, Result { try store.setAside() })
        }
        try store(next)
        return next
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

    private func accept(_ candidates: [SignedConfiguration], after base: ConfigurationState) throws -> ConfigurationState {
        let initial = initial
        return try base.accepting(candidates, now: time.date) { try ConfigurationSnapshot.check($0, initial: initial) }
    }

    /// What is stored, beside what is in force.
    private enum Found {
        case nothing, same, outdated
        case newer(ConfigurationState)
        case anothers(AnothersConfiguration)
    }

    private func find(since before: ConfigurationState) throws -> Found {
        do {
            guard let stored = try Self.restored(from: store, initial: initial) else { return .nothing }
            if stored.accepted.version > before.accepted.version { return .newer(stored) }
            // The versions before it may be others, of an app with another initial configuration.
            if stored.acceptedSigned.payloadBytes == before.acceptedSigned.payloadBytes {
                let bytes = try store.read()
                state.withLock { $0.leftInPlace = bytes }
                return .same
            }
            reportOutdated(stored.accepted.version, besides: before.accepted.version)
            return .outdated
        } catch let anothers as AnothersConfiguration {
            if !anothers.isProven, before.serializedChain != nil, before.hasOvertaken(stored: anothers.bytes) {
                report(setAside: anothers.cause, Result { try store.setAside() })
                return .outdated
            }
            let isKnown = state.withLock { state in
                defer { state.leftInPlace = anothers.bytes }
                return state.leftInPlace == anothers.bytes
            }
            if !isKnown { report(anothers) }
            return .anothers(anothers)
        } catch  where Self.isUnreadable(error) {
            // It may be sound and newer than what would be stored over it.
            throw StoreFailure(cause: error)
        } catch {
            report(setAside: error, Result { try store.setAside() })
            return .outdated
        }
    }

    private func putInForce(_ configuration: ConfigurationState) throws {
        let snapshot = try ConfigurationSnapshot(
            configuration.accepted, initial: initial, authorityAnchors: authorityAnchors, watch: authorityWatch,
            previous: current)
        state.withLock { ($0.configuration, $0.snapshot) = (configuration, snapshot) }
        let version = configuration.accepted.version
        logger.info("configuration in force", metadata: ["version": "\(version)"])
        events.send(.accepted(version: version))
    }

    private struct Flaw {
        let error: any Error
        /// Whether the file was moved out of the way; nil when it was not to be.
        let settingAside: Result<Void, any Error>?

        var leftInPlace: [UInt8]? { (error as? AnothersConfiguration)?.bytes }
    }

    /// What is stored was made by an app with another initial configuration, or says so.
    private struct AnothersConfiguration: Error {
        let bytes: [UInt8]
        /// Whether a key of this app's initial configuration signed it.
        let isProven: Bool
        let cause: any Error
    }

    /// What is stored, or why it does not serve.
    private static func beginning(
        with store: any ConfigurationStore, initial: InitialConfiguration
    ) -> (configuration: ConfigurationState?, flaw: Flaw?) {
        do {
            return (try restored(from: store, initial: initial), nil)
        } catch  where staysInPlace(error) {
            return (nil, Flaw(error: error, settingAside: nil))
        } catch {
            do {
                return try store.withExclusiveAccess {
                    // Looked at again: another process may have put a sound one in its place meanwhile, which must not be moved away.
                    do {
                        return (try restored(from: store, initial: initial), nil)
                    } catch  where staysInPlace(error) {
                        return (nil, Flaw(error: error, settingAside: nil))
                    } catch {
                        return (nil, Flaw(error: error, settingAside: Result { try store.setAside() }))
                    }
                }
            } catch let unavailable {
                return (nil, Flaw(error: error, settingAside: .failure(unavailable)))
            }
        }
    }

    /// Whether the error says nothing about what is stored: a system short of descriptors, or a disk's bad moment.
    private static func isUnreadable(_ error: any Error) -> Bool { (error as? AttestationError)?.code == .fileUnreadable }

    /// Whether what is stored is to stay where it is.
    private static func staysInPlace(_ error: any Error) -> Bool { isUnreadable(error) || error is AnothersConfiguration }

    private func report(_ flaw: Flaw) {
        if let settingAside = flaw.settingAside { return report(setAside: flaw.error, settingAside) }
        if let anothers = flaw.error as? AnothersConfiguration { return report(anothers) }
        let reported = ApproovError(
            .configurationError, "the stored configuration cannot be read now; it stays where it is, and the initial one serves",
            cause: flaw.error)
        logger.error("stored configuration not read", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    private func report(_ anothers: AnothersConfiguration) {
        let reported = ApproovError(
            .configurationError,
            anothers.isProven
                ? "the stored configuration is of an app with a newer initial configuration and stays where it is; this one keeps its own in"
                    + " memory: update the app, or give it a state directory of its own"
                : "the stored configuration names keys that this app does not know: another app with a newer initial configuration stored it, or"
                    + " it was altered; it stays where it is until the authority gives this app a newer version", cause: anothers.cause)
        logger.warning("stored configuration left to another app", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    private func reportOutdated(_ stored: Int64, besides inForce: Int64) {
        let what = stored == inForce ? "another content for version \(stored)" : "version \(stored)"
        let reported = ApproovError(
            .configurationError, "\(what) was put in the place of version \(inForce), which is in force and stored again: find out who did")
        logger.error("stored configuration replaced by an older one", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    private func report(setAside error: any Error, _ settingAside: Result<Void, any Error>) {
        let outcome: String
        switch settingAside {
        case .success: outcome = "was set aside"
        case .failure(let obstacle): outcome = "could not be set aside (\(obstacle))"
        }
        let reported = ApproovError(.configurationError, "the stored configuration does not verify and \(outcome)", cause: error)
        logger.error("stored configuration refused", metadata: ["error": "\(reported)"])
        if case .success = settingAside { events.send(.setAside(reported)) } else { events.send(.refused(reported)) }
    }

    /// Reports the hosts whose pins are past their date, once for each host and date.
    private func reportDates() {
        let now = Int64(time.date.timeIntervalSince1970)
        let hosts = state.withLock { state in
            let past = state.configuration.accepted.hosts.compactMapValues { settings in
                settings.pinsExpireAt.flatMap { $0 < now ? $0 : nil }
            }
            let before = state.reportedDates
            state.reportedDates = past
            return past.filter { before[$0.key] != $0.value }.keys.sorted()
        }
        guard !hosts.isEmpty else { return }
        logger.warning("pins past their date stay in force", metadata: ["hosts": "\(hosts.map(printable))"])
        events.send(.pinsPastTheirDate(hosts: hosts))
    }

    private static func restored(from store: any ConfigurationStore, initial: InitialConfiguration) throws -> ConfigurationState? {
        guard let bytes = try store.read() else { return nil }
        do {
            return try ConfigurationState(initial: initial, restoring: bytes) { try ConfigurationSnapshot.check($0, initial: initial) }
        } catch {
            switch ConfigurationState.origin(ofStored: bytes, initial: initial) {
            case .unknown: throw error
            case .saidToBeAnotherApp: throw AnothersConfiguration(bytes: bytes, isProven: false, cause: error)
            case .anotherApp: throw AnothersConfiguration(bytes: bytes, isProven: true, cause: error)
            }
        }
    }

    private struct StoreFailure: Error {
        let cause: any Error
    }
}
