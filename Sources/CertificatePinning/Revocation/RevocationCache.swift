@_spi(Internals) internal import ApproovBase
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
        let knowledge: Knowledge
        let since: Date
        let validUntil: Date

        func isCurrent(at time: Date) -> Bool {
            guard time <= validUntil else { return false }
            // If the clock was set back, a problem must not last longer than intended.
            if case .problem = knowledge { return since <= time }
            return true
        }
    }

    private let entries: Mutex<LeastRecentlyUsed<Key, Entry>>

    init(capacity: Int = 1_024) { entries = Mutex(LeastRecentlyUsed(capacity: capacity)) }

    /// The cached result about a certificate; nil when none is valid at the time.
    func knowledge(of key: Key, at time: Date) -> Knowledge? {
        entries.withLock { entries in
            guard let entry = entries.update(key, { $0 }) else { return nil }
            guard entry.isCurrent(at: time) else {
                entries.remove(key)
                return nil
            }
            return entry.knowledge
        }
    }

    /// Caches a result that was obtained at `time`, until `end`.
    func store(_ knowledge: Knowledge, of key: Key, at time: Date, until end: Date) {
        entries.withLock { $0.insert(Entry(knowledge: knowledge, since: time, validUntil: end), for: key) }
    }

    /// The number of entries.
    var count: Int { entries.withLock { $0.count } }
}
