import Attestation
import Synchronization

/// The account's message-signing key that the authority sent last.
///
/// It stays in memory.
final class AccountKey: Sendable {
    /// What the newest attestation said: the key, or that the account has none; nil before the first one that could bring a key.
    private let told = Mutex<(key: MessageSigningKey?, since: Duration)?>(nil)

    /// Nil if the account has none, or the authority was not asked yet.
    var value: MessageSigningKey? { told.withLock { $0?.key } }

    /// Whether an attestation has told if the account has a key.
    var isTold: Bool { told.withLock { $0 != nil } }

    /// Notes what an attestation brought for a host that is not oblivious.
    ///
    /// - Parameters:
    ///   - key: The key; nil if the account has none.
    ///   - since: The uptime at which the attestation began; one that began before the last noted one says nothing.
    func note(_ key: MessageSigningKey?, since: Duration) {
        told.withLock { told in
            if let told, since < told.since { return }
            told = (key, since)
        }
    }
}
