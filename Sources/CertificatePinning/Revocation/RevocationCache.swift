internal import Foundation
internal import Synchronization

/// What verified answers said, for as long as they hold; the least recently used go first.
///
/// Of an answer that was not verified only the problem is kept, and shortly: what somebody put in the way on plain http cannot stay.
final class RevocationCache: Sendable {
    /// One certificate below one issuer.
    struct Key: Hashable {
        let certificate: Pin
        let issuer: Pin

        init(_ issued: IssuedCertificate) {
            // A digest of the whole certificate; a pin is a SHA-256 of whatever DER it is given.
            certificate = Pin(spki: issued.certificate.der)
            issuer = issued.issuer.pin
        }
    }

    /// What is known of a certificate.
    enum Knowledge: Equatable {
        /// What a verified answer said.
        case status(RevocationStatus)
        /// Why nothing could be found out a short while ago.
        case problem(String)
    }

    private struct Entry {
        var knowledge: Knowledge
        var since: Date
        var validUntil: Date
        var lastUse: UInt64

        func isCurrent(at time: Date) -> Bool {
            guard time <= validUntil else { return false }
            // A problem must not outlast its moment where the clock was set back.
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

    /// What is known of a certificate; nil: nothing.
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

    /// Keeps what became known at a time.
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
