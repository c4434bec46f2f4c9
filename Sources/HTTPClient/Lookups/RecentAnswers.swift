import CertificatePinning

/// Keeps the answers to look-ups for a moment, for requests that come too late to wait for them.
///
/// Only answers are kept, never failures. The evaluators judge each of them again: they check its signature, its subject and its dates.
struct RecentAnswers {
    /// How long an answer is kept.
    ///
    /// No longer than ``RevocationTrustEvaluator`` refuses a server after an invalid answer: that time must not become longer.
    static let lifetime: Duration = .seconds(30)
    /// The most answers.
    static let maximumCount = 256
    /// The most bytes of an answer and its question; large CRLs take ten times their size in memory, and are not kept.
    static let maximumAnswerBytes = 64 << 10
    /// The most bytes of all answers and their questions.
    static let maximumBytes = 512 << 10

    private struct Entry {
        let result: TrustLookupResult
        let bytes: Int
        let end: Duration
    }

    private var entries: [RoutedLookup: Entry] = [:]
    /// The bytes of all entries.
    private(set) var bytes = 0

    /// The number of answers.
    var count: Int { entries.count }

    /// Keeps a result, unless it is a failure or too large; the oldest answers make room.
    mutating func keep(_ result: TrustLookupResult, for key: RoutedLookup, at now: Duration) {
        purge(at: now)
        remove(key)
        let size = result.bytes.count + key.lookup.requestBody.count + key.lookup.url.utf8.count
        guard result.failure == nil, size <= Self.maximumAnswerBytes else { return }
        while entries.count >= Self.maximumCount || bytes > Self.maximumBytes - size {
            guard let oldest = entries.min(by: { $0.value.end < $1.value.end }) else { break }
            remove(oldest.key)
        }
        entries[key] = Entry(result: result, bytes: size, end: now + Self.lifetime)
        bytes += size
    }

    /// The answer to a look-up; nil if there is no recent one.
    mutating func result(of key: RoutedLookup, at now: Duration) -> TrustLookupResult? {
        purge(at: now)
        return entries[key]?.result
    }

    private mutating func purge(at now: Duration) {
        for (key, entry) in entries where entry.end <= now { remove(key) }
    }

    private mutating func remove(_ key: RoutedLookup) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        bytes -= entry.bytes
    }
}
