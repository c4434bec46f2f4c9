@_spi(Internals) import ApproovBase
import Attestation
import Synchronization

/// The secure strings of a service: the account's, in memory alone, and the app's own, in a sealed file.
final class SecureStrings: Sendable {
    /// The app's own strings.
    let instance: InstanceStrings
    private let time: any TimeSource
    private let state = Mutex(SecureStringState())
    private let failure = Mutex<TokenFetchResult?>(nil)
    /// Lets all callers share one attestation.
    private let flight: SharedRefresh

    init(time: any TimeSource, instance: InstanceStrings) {
        self.time = time
        self.instance = instance
        flight = SharedRefresh(interval: .zero, time: time)
    }

    /// Takes up what an attestation brought; see ``SecureStringState/note(_:of:_:)``.
    func note(_ strings: [String: String]?, of result: TokenFetchResult, _ life: TokenLife) {
        let result = result.withoutToken
        state.withLock { $0.note(strings, of: result, life) }
    }

    /// What the newest attestation found.
    var verdict: SecureStringState.Verdict {
        let now = time.uptime
        return state.withLock { $0.current(now: now) }
    }

    /// Returns what the newest attestation found; attests first if there is none.
    ///
    /// Callers at the same time share one attestation. A cancelled caller stops waiting.
    ///
    /// - Parameter attest: Attests, and calls ``note(_:of:_:)``.
    /// - Returns: The verdict; `unknown` with the failed result if the attestation failed.
    func verdict(
        attestingWith attest: @escaping @Sendable () async -> TokenFetchResult
    ) async -> (verdict: SecureStringState.Verdict, failure: TokenFetchResult) {
        let known = verdict
        guard case .unknown = known else {
            return (known, TokenFetchResult(status: .internalError))
        }
        await flight.run { [self] in
            let result = await attest().withoutToken
            failure.withLock { $0 = result }
        }
        let late = TokenFetchResult(status: .poorNetwork, error: .fetchTimedOut)
        let failed = failure.withLock { $0 }.flatMap { $0.status == .success ? nil : $0 }
        return (verdict, failed ?? late)
    }
}
