internal import Foundation
internal import Synchronization

/// Caches verified revocation answers while they are valid; when full, it evicts the least recently used entry.
///
/// For an unverified answer only the problem is cached, and only briefly, so that an attacker on a plain http connection cannot plant a
/// lasting result.
final class RevocationCache: Sendable {
    /// Identifies a certificate and its issuer.
    struct Key: Hashable {
        let certificate: Pin
        let issuer: Pin

        init(_ issued: IssuedCertificate) {
            // A digest of the whole certificate: Pin(spki:) hashes any DER it is given.
            certificate = Pin(spki: issued.certificate.der)
            issuer = issued.issuer.pin
        }
    }

    /// A cached result about a certificate.
    enum Knowledge: Equatable {
        /// The status from a verified answer.
        case status(RevocationStatus)
        /// Why a recent attempt could not determine the status.
        case problem(String)
    }

    private struct Entry {
        var knowledge: Knowledge
        var since: Date
        var validUntil: Date
        var lastUse: UInt64

        func isCurrent(at time: Date) -> Bool {
            guard time <= validUntil else { return false }
            // If the clock was set back, a problem must not last longer than intended.
            if case .problem = knowledge { return since <= time }
            return true
        }
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var clock: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = 1_024) { self.capacity = capacity }

    /// The cached result about a certificate; nil when none is valid at the time.
    func knowledge(of key: Key, at time: Date) -> Knowledge? {
        state.withLock { state in
            guard let entry = state.entries[key] else { return nil }
            guard entry.isCurrent(at: time) else {
                state.entries[key] = nil
                return nil
            }
            state.clock += 1
            state.entries[key]?.lastUse = state.clock
            return entry.knowledge
        }
    }

    /// Caches a result that was obtained at `time`, until `end`.
    func store(_ knowledge: Knowledge, of key: Key, at time: Date, until end: Date) {
        state.withLock { state in
            state.clock += 1
            if state.entries.count >= capacity, state.entries[key] == nil,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.entries[key] = Entry(knowledge: knowledge, since: time, validUntil: end, lastUse: state.clock)
        }
    }

    /// The number of entries.
    var count: Int { state.withLock { $0.entries.count } }
}
