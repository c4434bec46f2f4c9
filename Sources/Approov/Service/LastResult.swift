import Synchronization

/// The last result of an attestation, without its token.
final class LastResult: Sendable {
    private let result = Mutex<TokenFetchResult?>(nil)

    var value: TokenFetchResult? { result.withLock { $0 } }

    func note(_ result: TokenFetchResult) {
        let kept = result.withoutToken
        self.result.withLock { $0 = kept }
    }
}
