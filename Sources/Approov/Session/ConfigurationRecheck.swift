import ApproovBase
import HTTPClient

/// Asks for a newer configuration when a host's pins or a gateway's key did not match, and decides whether the request is sent again.
struct ConfigurationRecheck: Sendable {
    /// Nil without a service; there is then no configuration to ask for.
    let service: ApproovService?
    let time: any TimeSource

    /// Asks the authority for a newer configuration.
    ///
    /// - Parameter deadline: The end of the time for the request.
    /// - Throws: ``ApproovError`` with code `timedOut` when the time was over before; `FinalError` when the session is cancelled;
    ///   `CancellationError` when the task is cancelled.
    func run(by deadline: RequestDeadline) async throws {
        guard let service else { return }
        _ = await time.withTimeout(try deadline.remaining, in: deadline.life) { await service.recheckConfiguration() }
        try Task.checkCancellation()
        try deadline.life?.checkGoOn()
    }

    /// Whether a newer configuration may help, because the pins did not match or the gateway did not accept the key.
    static func mayHelp(after error: any Error) -> Bool {
        switch error {
        case let error as TransportError: error.code == .trustRefused
        case RelayExchange.Refusal.key: true
        default: false
        }
    }

    /// Whether a request is sent again under a newer configuration.
    ///
    /// - Parameters:
    ///   - draft: The request that failed.
    ///   - error: The failure, for which ``mayHelp(after:)`` is true.
    ///   - newest: The rules in force now.
    ///   - hop: The rules under which the request failed.
    /// - Returns: Whether to send it again.
    static func allowsAnotherAttempt(
        of draft: RequestDraft, after error: any Error, under newest: ResolvedHop, insteadOf hop: ResolvedHop
    ) -> Bool {
        // A pin mismatch comes before any byte of the body is sent. Over a relay, however, a body stream sent whole has already been read.
        guard draft.body.canBeSentAgain else { return false }
        guard case RelayExchange.Refusal.key = error else { return newest.policy !== hop.policy }
        // Only the relay says that the key was refused, and it may lie. With the same key, another attempt could only make the request run
        // twice.
        return newest.snapshot?.obliviousRoute?.key != hop.snapshot?.obliviousRoute?.key
    }

    /// Returns the error for the caller: a refused key becomes an ``ApproovError`` with the remedy, and any other error stays as it is.
    ///
    /// - Parameters:
    ///   - error: The failure.
    ///   - isOwnRoute: Whether the key is the session's own, not the configuration's.
    /// - Returns: The error.
    static func explained(_ error: any Error, isOwnRoute: Bool) -> any Error {
        guard case RelayExchange.Refusal.key = error else { return error }
        let remedy =
            isOwnRoute
            ? "fetch its current keys from its /ohttp-keys, and give them to the session"
            : "publish its keys with `approov oblivious -set`"
        return ApproovError(.obliviousError, "the gateway does not accept the key that the request was sealed with: \(remedy)")
    }
}
