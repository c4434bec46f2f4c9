internal import ApproovBase
internal import ApproovTokens
internal import Attestation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import Metrics

/// Consumes a verified token: asks the replay store, waits a limited time, and logs and counts the outcome.
@usableFromInline struct TokenConsumer: Sendable {
    /// What happens to the request.
    enum Outcome: Sendable {
        /// It goes on, with this token.
        case passed(VerifiedToken)
        /// It gets 401.
        case refused
        /// It gets 503.
        case unavailable
    }

    private enum Answer: Sendable {
        case first, usedBefore
        case failed(any Error)
        case cancelled
    }

    /// How long a request waits for the replay store by default.
    @usableFromInline static let standardTimeout: Duration = .seconds(2)
    /// The longest wait that an operator may choose.
    private static let longestTimeout: Duration = .seconds(60)
    /// The seconds after which a client may try again when the store has failed.
    private static let retryAfter = "5"

    private let store: any ReplayStore
    private let timeout: Duration
    private let policy: ReplayPolicy
    private let waiting: ConcurrencyLimit
    private let first: Counter
    private let replayed: Counter
    private let unavailable: Counter
    /// Bounds the log lines about replays, because any client can cause them.
    private let replays = LogAllowance()
    private let failures = LogAllowance()

    /// Makes a consumer.
    /// - Parameters:
    ///   - store: The store.
    ///   - timeout: How long to wait for it.
    ///   - policy: What happens to a token that was used before.
    ///   - maximumWaiting: The most uses that wait for the store; more mean that the store is stuck.
    ///   - metrics: Where the outcomes are counted.
    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when the timeout is not above zero and at most a minute.
    init(
        store: any ReplayStore, timeout: Duration, policy: ReplayPolicy, maximumWaiting: Int = 10_000,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) throws {
        guard timeout > .zero, timeout <= Self.longestTimeout else {
            throw TokenCheckError(.invalidConfiguration, "the replay store's timeout must be above zero and at most 60 seconds")
        }
        (self.store, self.timeout, self.policy) = (store, timeout, policy)
        waiting = ConcurrencyLimit(maximumWaiting)
        func counter(_ result: String) -> Counter {
            Counter(label: "approov_token_uses", dimensions: [("result", result)], factory: metrics)
        }
        (first, replayed, unavailable) = (counter("first"), counter("replayed"), counter("unavailable"))
    }

    /// Consumes a token that has passed every other check.
    /// - Parameters:
    ///   - token: The token.
    ///   - logger: Where refusals and failures are logged.
    ///   - time: The clock for the wait.
    /// - Returns: What happens to the request.
    func consume(_ token: VerifiedToken, logger: Logger, time: any TimeSource) async -> Outcome {
        func refuse(_ code: String) -> Outcome {
            replays.notice("token refused", to: logger, at: time.uptime, metadata: ["code": "\(code)"])
            return .refused
        }
        let jti: String
        do {
            jti = try token.requireJTI()
        } catch {
            return refuse("\(error.code)")
        }
        switch await answer(to: jti, of: token, time: time) {
        case .first:
            first.increment()
            return .passed(token)
        case .usedBefore:
            replayed.increment()
            switch policy {
            case .refused: return refuse("tokenUsedBefore")
            case .dangerouslyPassedToHandler:
                replays.notice("token replayed", to: logger, at: time.uptime, metadata: ["code": "tokenUsedBefore"])
                return .passed(token.markedAsReplay)
            }
        case .failed(let error):
            unavailable.increment()
            failures.log(.error, "replay store failed", to: logger, at: time.uptime, metadata: Self.metadata(of: error))
            return .unavailable
        case .cancelled:
            return .unavailable
        }
    }

    /// The response to a request whose token could not be consumed because of the store.
    static var unavailableResponse: Response {
        Response(status: .serviceUnavailable, headers: [.retryAfter: retryAfter])
    }

    /// Asks the store, and stops waiting at the timeout even if the store ignores its cancellation.
    private func answer(to jti: String, of token: VerifiedToken, time: any TimeSource) async -> Answer {
        guard let permit = waiting.permit() else {
            return .failed(ReplayStoreError(.storeSlow, "\(waiting.limit) tokens wait to be recorded in the replay store; check the store"))
        }
        let shared = ConcurrencyLimit.SharedPermit(permit)
        // The token was accepted just before its end, at the latest; the store may record it as late as the timeout.
        let end = token.acceptedUntil + timeout.components.seconds + 1
        let issuer = token.claims.iss
        let (answers, answer) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(1))
        let asking = Task { [store] in
            do {
                answer.yield(try await store.consume(jti, of: issuer, until: end) ? .first : .usedBefore)
            } catch {
                answer.yield(.failed(error))
            }
            // The permit lasts as long as the store works, which may be longer than the wait.
            withExtendedLifetime(shared) {}
        }
        let timing = Task { [timeout] in
            guard (try? await time.sleep(for: timeout)) != nil else { return }
            answer.yield(.failed(ReplayStoreError(.storeSlow, "the replay store did not answer within \(timeout); check the store")))
        }
        defer {
            asking.cancel()
            timing.cancel()
        }
        for await answer in answers { return answer }
        return .cancelled
    }

    /// The code and message of this package's errors, which are safe to log; of others, only the name of their type.
    private static func metadata(of error: any Error) -> Logger.Metadata {
        guard let error = error as? ReplayStoreError else { return ["code": "storeFailed", "error": "\(type(of: error))"] }
        return ["code": "\(error.code)", "message": "\(error.message)"]
    }
}
