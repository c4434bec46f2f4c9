import Attestation
import CertificatePinning
import Dispatch
import Foundation
import Logging
import Synchronization

/// Holds the configuration in force and decides about what is to follow it.
///
/// A new version is verified, compiled, stored, and only then put in force.
final class ConfigurationKeeper: Sendable {
    private struct State {
        var configuration: ConfigurationState
        var snapshot: ConfigurationSnapshot
    }

    let initial: InitialConfiguration
    let events = EventStreams<ConfigurationEvent>(backlogLimit: 16)
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
        let snapshot = try ConfigurationSnapshot(begin.accepted, initial: initial, authorityAnchors: authorityAnchors)
        state = Mutex(State(configuration: begin, snapshot: snapshot))
        if let flaw = beginning.flaw { report(flaw) }
        reportDates(begin.accepted)
    }

    /// What holds now.
    var current: ConfigurationSnapshot { state.withLock { $0.snapshot } }

    /// Takes newer versions up, or refuses them whole and reports why.
    ///
    /// - Returns: Whether another version is in force now than before.
    func offer(_ candidates: [SignedConfiguration]) async -> Bool {
        guard let newest = candidates.last, newest != state.withLock({ $0.configuration.acceptedSigned }) else { return false }
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.take(candidates)) }
        }
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
        } catch {
            let reported = ApproovError(
                .configurationError, "a configuration was refused; version \(before.accepted.version) stays in force", cause: error)
            logger.error("configuration refused", metadata: ["error": "\(reported)"])
            events.send(.refused(reported))
        }
        return false
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
        // Another process may have been here first: the higher version wins, and what it stored is not stored over.
        let other = try storedByAnotherProcess(since: before)
        let next: ConfigurationState
        switch Result(catching: { try accept(candidates, after: other ?? before) }) {
        case .success(let accepted): next = accepted
        case .failure(let error):
            // Candidates that are behind what the other process stored no longer matter.
            guard let other else { throw error }
            return other
        }
        guard next.acceptedSigned != (other ?? before).acceptedSigned, let bytes = next.serializedChain else { return next }
        do {
            try store.store(bytes)
        } catch {
            throw StoreFailure(cause: error)
        }
        return next
    }

    private func accept(_ candidates: [SignedConfiguration], after base: ConfigurationState) throws -> ConfigurationState {
        let initial = initial
        return try base.accepting(candidates, now: time.date) { try ConfigurationSnapshot.check($0, initial: initial) }
    }

    private func storedByAnotherProcess(since before: ConfigurationState) throws -> ConfigurationState? {
        do {
            guard let stored = try Self.restored(from: store, initial: initial) else { return nil }
            return stored.accepted.version > before.accepted.version ? stored : nil
        } catch  where Self.isUnreadable(error) {
            // It may be sound and newer than what would be stored over it.
            throw StoreFailure(cause: error)
        } catch {
            report(setAside: error, Result { try store.setAside() })
            return nil
        }
    }

    private func putInForce(_ configuration: ConfigurationState) throws {
        let snapshot = try ConfigurationSnapshot(
            configuration.accepted, initial: initial, authorityAnchors: authorityAnchors, previous: current)
        state.withLock { $0 = State(configuration: configuration, snapshot: snapshot) }
        let version = configuration.accepted.version
        logger.info("configuration in force", metadata: ["version": "\(version)"])
        events.send(.accepted(version: version))
        reportDates(configuration.accepted)
    }

    private struct Flaw {
        let error: any Error
        /// Whether the file was moved out of the way; nil when it was not to be.
        let settingAside: Result<Void, any Error>?
    }

    /// What is stored, or why it does not serve.
    private static func beginning(
        with store: any ConfigurationStore, initial: InitialConfiguration
    ) -> (configuration: ConfigurationState?, flaw: Flaw?) {
        do {
            return (try restored(from: store, initial: initial), nil)
        } catch  where isUnreadable(error) {
            return (nil, Flaw(error: error, settingAside: nil))
        } catch {
            do {
                return try store.withExclusiveAccess {
                    // Looked at again: another process may have put a sound one in its place meanwhile, which must not be moved away.
                    do {
                        return (try restored(from: store, initial: initial), nil)
                    } catch  where isUnreadable(error) {
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

    private func report(_ flaw: Flaw) {
        if let settingAside = flaw.settingAside { return report(setAside: flaw.error, settingAside) }
        let reported = ApproovError(
            .configurationError, "the stored configuration cannot be read now; it stays where it is, and the initial one serves",
            cause: flaw.error)
        logger.error("stored configuration not read", metadata: ["error": "\(reported)"])
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

    private func reportDates(_ configuration: DynamicConfiguration) {
        let now = Int64(time.date.timeIntervalSince1970)
        let hosts = configuration.hosts.filter { $0.value.pinsExpireAt.map { $0 < now } ?? false }.keys.sorted()
        guard !hosts.isEmpty else { return }
        logger.warning("pins past their date stay in force", metadata: ["hosts": "\(hosts.map(printable))"])
        events.send(.pinsPastTheirDate(hosts: hosts))
    }

    private static func restored(from store: any ConfigurationStore, initial: InitialConfiguration) throws -> ConfigurationState? {
        guard let bytes = try store.read() else { return nil }
        return try ConfigurationState(initial: initial, restoring: bytes) { try ConfigurationSnapshot.check($0, initial: initial) }
    }

    private struct StoreFailure: Error {
        let cause: any Error
    }
}
