import Synchronization

/// What a token stands for once its signature was verified: nothing in it depends on the time or on a request.
struct SignedToken: Sendable {
    let payload: TokenPayload
    let kid: String?
    let algorithm: TokenAlgorithm
}

/// Tokens seen lately whose signature held.
///
/// An app sends one token with many requests. The signature over the same bytes by the same key stays what it was, so it is verified
/// once; times, names and binding are judged anew with every request. Only tokens whose signature held come in, so nobody without a
/// key can fill the cache.
final class SignedTokenCache: Sendable {
    /// Two generations: entries that were not asked for while the younger one filled up are dropped with the older one.
    private struct Generations {
        var younger: [String: SignedToken] = [:]
        var older: [String: SignedToken] = [:]
    }

    private let generations = Mutex(Generations())
    private let generationSize: Int

    /// A cache of at most `capacity` tokens.
    init(capacity: Int) {
        generationSize = max(1, capacity / 2)
    }

    /// What a token with exactly these bytes stands for; it must be ASCII, which makes equal strings equal bytes.
    func token(_ token: String) -> SignedToken? {
        generations.withLock { generations in
            if let found = generations.younger[token] { return found }
            guard let found = generations.older[token] else { return nil }
            insert(found, of: token, into: &generations)
            return found
        }
    }

    /// Keeps a token whose signature was verified.
    func insert(_ signed: SignedToken, of token: String) {
        generations.withLock { insert(signed, of: token, into: &$0) }
    }

    /// The number of tokens kept.
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
