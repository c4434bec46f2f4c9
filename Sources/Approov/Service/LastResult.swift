import Synchronization

/// The last result of an attestation, without its token.
final class LastResult: Sendable {
    private let result = Mutex<TokenFetchResult?>(nil)

    var value: TokenFetchResult? { result.withLock { $0 } }

    func note(_ result: TokenFetchResult) {
        // A caller that no longer waits does not end an attestation.
        guard !(result.error?.cause is CancellationError) else { return }
        let kept = result.withoutToken
        self.result.withLock { $0 = kept }
    }
}
