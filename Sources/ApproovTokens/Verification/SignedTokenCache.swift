import Synchronization

/// Caches tokens whose signature was verified recently.
///
/// An app sends the same token with many requests, and the same bytes always verify under the same key, so the signature is checked once.
/// Times, names and binding are checked with every request. Only verified tokens enter, so a client without a key cannot fill the cache.
final class SignedTokenCache: Sendable {
    /// Two generations: when the younger one is full, it replaces the older one, whose unused entries are dropped.
    private struct Generations {
        var younger: [String: SignedToken] = [:]
        var older: [String: SignedToken] = [:]
    }

    private let generations = Mutex(Generations())
    private let generationSize: Int

    /// Makes a cache of at most `capacity` tokens, rounded down to an even number; at least two.
    init(capacity: Int) {
        generationSize = max(1, capacity / 2)
    }

    /// Returns the content of the token with exactly these bytes; it must be ASCII, so that equal strings have equal bytes.
    func token(_ token: String) -> SignedToken? {
        generations.withLock { generations in
            if let found = generations.younger[token] { return found }
            guard let found = generations.older[token] else { return nil }
            insert(found, of: token, into: &generations)
            return found
        }
    }

    /// Adds a token whose signature was verified.
    func insert(_ signed: SignedToken, of token: String) {
        generations.withLock { insert(signed, of: token, into: &$0) }
    }

    /// The number of tokens in the cache.
    var count: Int {
        generations.withLock { $0.younger.count + $0.older.count }
    }

    private func insert(_ signed: SignedToken, of token: String, into generations: inout Generations) {
        if generations.younger.count >= generationSize {
            generations.older = generations.younger
            generations.younger.removeAll()
        }
        generations.younger[token] = signed
    }
}
