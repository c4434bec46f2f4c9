import Attestation
import Synchronization

/// The account's message-signing key that the authority sent last.
///
/// It stays in memory.
final class AccountKey: Sendable {
    private let key = Mutex<MessageSigningKey?>(nil)

    /// Nil if the account has none, or the authority was not asked yet.
    var value: MessageSigningKey? { key.withLock { $0 } }

    /// Notes what a fetch brought.
    ///
    /// - Parameters:
    ///   - result: The result, with a token.
    ///   - token: The host and the binding of the token. With tokens for oblivious hosts the authority sends no key.
    func note(_ result: TokenFetchResult, for token: TokenKey) {
        guard !token.isOblivious else { return }
        let key = result.accountKey
        self.key.withLock { $0 = key }
    }
}
