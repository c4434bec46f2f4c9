internal import Foundation
internal import Synchronization

/// What verified answers said, for as long as they hold; the least recently used go first.
///
/// Only what was verified is kept: an answer that somebody put in the way on plain http cannot stay.
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

    private struct Entry {
        var status: RevocationStatus?
        var validUntil: Date
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var clock: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int = 1_024) { self.capacity = capacity }

    /// What is known of a certificate.
    ///
    /// - Returns: nil when nothing is; a nil status when it could not be found out a short while ago.
    func status(of key: Key, at time: Date) -> RevocationStatus?? {
        state.withLock { state in
            guard let entry = state.entries[key] else { return nil }
            guard entry.validUntil >= time else {
                state.entries[key] = nil
                return nil
            }
            state.clock += 1
            state.entries[key]?.lastUse = state.clock
            return .some(entry.status)
        }
    }

    /// Keeps what is known, or that nothing could be found out.
    func store(_ status: RevocationStatus?, of key: Key, until end: Date) {
        state.withLock { state in
            state.clock += 1
            if state.entries.count >= capacity, state.entries[key] == nil,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.entries[key] = Entry(status: status, validUntil: end, lastUse: state.clock)
        }
    }

    /// The number of entries.
    var count: Int { state.withLock { $0.entries.count } }
}
