@_spi(Internals) import ApproovBase
import Foundation
import HTTPClient
import FoundationNetworking

/// Performs one request of the app: passes it, its redirects and its retries through the stations.
struct RequestPerformer: Sendable {
    private(set) var stations: RequestStations
    /// How long a request may take with its redirects and retries.
    let totalTimeout: Duration
    let time: any TimeSource
    private let urls = LastValue<URL, TransportURL>()

    init(_ stations: RequestStations, totalTimeout: Duration, time: any TimeSource) {
        self.stations = stations
        self.totalTimeout = totalTimeout
        self.time = time
    }

    /// Returns a performer that shares everything with this one, and calls further interceptors and validators after the others.
    func adding(_ interceptors: [any RequestInterceptor], _ validators: [any ResponseValidating]) -> RequestPerformer {
        var copy = self
        copy.stations = RequestStations(stations, adding: interceptors, validators)
        return copy
    }

    /// Performs the request.
    ///
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - body: The body to send.
    ///   - observation: The limits and observers of the transfer.
    /// - Returns: The request as sent last, with its response.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` when the task is cancelled.
    func perform(_ request: URLRequest, body: RequestBody, observation: RequestObservation) async throws -> SentRequest {
        guard let scope = observation.scope else { return try await performed(request, body, observation) }
        return try await scope.run { try await performed(request, body, observation) }
    }

    private func performed(_ request: URLRequest, _ body: RequestBody, _ observation: RequestObservation) async throws -> SentRequest {
        try stations.life.checkBegin(isAdmitted: observation.isAdmitted)
        let deadline = RequestDeadline(after: totalTimeout, on: time, in: stations.life)
        var first = try RedirectStep(request, body: body, urls: urls)
        var step = first
        var progress = Progress(lacksHeaders: !stations.perRequestHeaders.isOff)
        while true {
            observation.call?.begins(attempt: progress.attempt, redirect: progress.redirects)
            var outcome: Result<SentRequest, any Error>
            do {
                if progress.lacksHeaders {
                    try await begin(&step, of: &first, isFirst: progress.beginsCall, by: deadline, observation)
                    progress.madeHeaders()
                }
                outcome = .success(try await stations.pass(step, by: deadline, observation))
            } catch {
                // Before a redirect or a retry, a request was already sent. Only an idempotent one can then be repeated safely.
                let isRepeatable = step.isIdempotent ? true : progress.mayHaveRun ? false : nil
                if let error = error as? FinalError { throw error.cause.asApproovError(isRepeatable: isRepeatable) }
                outcome = .failure(error.asApproovError(isRepeatable: isRepeatable))
            }
            try observation.flight?.check()
            if case .success(let sent) = outcome {
                stations.token.noteAnswer(to: sent)
                if let next = try stations.response.next(after: sent, from: step, redirects: progress.redirects, observation.flight) {
                    sent.ticket?.end()
                    progress.redirect()
                    step = next
                    continue
                }
                if !progress.isRenewed, stations.token.renewIfRejected(after: sent, from: step) {
                    sent.ticket?.end()
                    progress.renew()
                    if !stations.perRequestHeaders.isOff, progress.redirects == 0 {
                        // A nonce that is sent twice would look like a replay.
                        step.perRequestFields = first.perRequestFields
                        progress.lacksHeaders = true
                    }
                    continue
                }
                if stations.validation.isOff, stations.response.interceptors.isEmpty { return sent }
            }
            let answered = try? outcome.get()
            if !stations.validation.isOff { outcome = await validated(outcome, observation) }
            guard stations.response.asksRetriers(about: first, attempt: progress.attempt) else {
                if let answered { try stations.response.renewRefused(answered, first, hasLeftOrigin: step.hasLeftOrigin) }
                return try outcome.get()
            }
            // A response that a validator refused counts at the gate, too, until it is known whether the request is sent again.
            let ticket = stations.gate.gate == nil ? nil : answered?.ticket
            // A barrier may begin while the retriers decide, and it must not begin before the body has ended.
            if ticket != nil { outcome = await whole(outcome, observation) }
            let trial = Trial(
                first: first, answered: answered, attempt: progress.attempt, hasLeftOrigin: step.hasLeftOrigin, ticket: ticket)
            var isRetried = false
            // The head is judged first, even of a response whose body breaks off or is too long.
            if let sent = answered, Self.isHeadJudged(outcome) {
                let start = try stations.response.firstRetrier(
                    for: sent, first, attempt: progress.attempt, hasLeftOrigin: step.hasLeftOrigin, retries: progress.retries)
                if let start {
                    isRetried = try await askRetriers(trial, .success(sent), from: start, &progress.retries, by: deadline, observation)
                }
                // Without a gate, the head is judged as soon as it has come.
                if !isRetried, ticket == nil, !observation.isStreamed { outcome = await whole(outcome, observation) }
            }
            if !isRetried, case .failure = outcome {
                isRetried = try await askRetriers(trial, outcome, from: RetrierStart(), &progress.retries, by: deadline, observation)
            }
            guard isRetried else { return try outcome.get() }
            ticket?.end()
            observation.call?.willRetry(after: outcome)
            if answered?.isIdempotent == false { first.followsNonIdempotent = true }
            progress.retry(mayHaveRun: Self.mayHaveRun(outcome))
            progress.lacksHeaders = !stations.perRequestHeaders.isOff
            step = first
        }
    }

    /// How far a request has come with its redirects, the renewal of its token, and its retries.
    private struct Progress {
        private(set) var attempt = 1
        /// The redirects of this attempt.
        private(set) var redirects = 0
        /// Whether a rejected token was replaced, which happens once.
        private(set) var isRenewed = false
        /// The indices of the interceptors that had the request sent again, in order.
        var retries: [Int] = []
        /// Whether the server may have executed the request in an earlier attempt.
        private(set) var mayHaveRunBefore = false
        /// Whether the per-request headers of the next pass are still to be made.
        var lacksHeaders: Bool
        /// Whether those of the call are still to be made: it may be tried again after it was refused without them.
        private(set) var beginsCall = true

        /// Whether the server may have executed the request before the next pass.
        var mayHaveRun: Bool { redirects > 0 || mayHaveRunBefore }

        mutating func madeHeaders() { (lacksHeaders, beginsCall) = (false, false) }

        mutating func redirect() { redirects += 1 }

        mutating func renew() { isRenewed = true }

        /// Begins the next attempt.
        ///
        /// - Parameter hasRun: Whether the server may have executed the last pass.
        mutating func retry(mayHaveRun hasRun: Bool) {
            mayHaveRunBefore = mayHaveRun || hasRun
            attempt += 1
            redirects = 0
        }
    }

    /// Makes the per-request headers of an attempt, or of its repetition with another token, as soon as the gate is open.
    ///
    /// The pass then enters the gate again, which is immediate. If the gate closes in between, the headers are as old as that second wait.
    ///
    /// - Parameters:
    ///   - step: The step to send; on return, with the headers.
    ///   - first: The caller's request; on return, with the headers of the call.
    ///   - isFirst: Whether the headers of the call are still to be made.
    ///   - deadline: The end of the time for the request.
    ///   - observation: The observers of the transfer.
    /// - Throws: Errors of the gate; ``ApproovError`` with code `hostNotAllowed`; `FinalError` when the app names a header that it must not
    ///   set, or one that is malformed.
    private func begin(
        _ step: inout RedirectStep, of first: inout RedirectStep, isFirst: Bool, by deadline: RequestDeadline,
        _ observation: RequestObservation
    ) async throws {
        try await stations.gate.wait(by: deadline, observation)
        // The app makes no headers for a host that `allowedHosts` does not allow.
        try stations.allowList.allowedHosts?.check(step.url)
        do {
            if isFirst {
                try stations.perRequestHeaders.beginCall(&first)
                step = first
            }
            try stations.perRequestHeaders.beginAttempt(&step)
        } catch {
            throw FinalError(cause: error)
        }
    }

    /// An attempt that the retriers judge.
    private struct Trial {
        let first: RedirectStep
        /// The request as sent, if a response came.
        let answered: SentRequest?
        let attempt: Int
        let hasLeftOrigin: Bool
        /// The place at the gate that the attempt gives up while the retriers decide.
        let ticket: GateTicket?
    }

    /// Asks the retriers whether to send the request again.
    private func askRetriers(
        _ trial: Trial, _ outcome: Result<SentRequest, any Error>, from start: RetrierStart, _ retries: inout [Int],
        by deadline: RequestDeadline, _ observation: RequestObservation
    ) async throws -> Bool {
        guard let ticket = trial.ticket else {
            return try await stations.response.askRetriers(
                trial.first, after: outcome, to: trial.answered, from: start, attempt: trial.attempt, hasLeftOrigin: trial.hasLeftOrigin,
                retries: &retries, by: deadline, observation)
        }
        return try await ticket.interrupt {
            try await stations.response.askRetriers(
                trial.first, after: outcome, to: trial.answered, from: start, attempt: trial.attempt, hasLeftOrigin: trial.hasLeftOrigin,
                retries: &retries, by: deadline, observation)
        }
    }

    /// Whether the retriers judge the head of a response with this outcome: not if a validator refused the response, which they judge
    /// instead.
    private static func isHeadJudged(_ outcome: Result<SentRequest, any Error>) -> Bool {
        guard case .failure(let error) = outcome else { return true }
        return (error as? ApproovError).map { $0.code != .responseRefused } ?? false
    }

    /// Whether the server may have executed a request that got this outcome.
    private static func mayHaveRun(_ outcome: Result<SentRequest, any Error>) -> Bool {
        guard case .failure(let error) = outcome else { return true }
        return (error as? ApproovError)?.isRetryable != true
    }

    /// Reads the body of a response.
    private func whole(
        _ outcome: Result<SentRequest, any Error>, _ observation: RequestObservation
    ) async -> Result<SentRequest, any Error> {
        guard case .success(let sent) = outcome else { return outcome }
        do {
            _ = try await sent.body(upTo: observation.bodyLimit)
            return outcome
        } catch {
            return .failure(error)
        }
    }

    /// Has the validators judge an outcome; a response that they refuse is a failure.
    private func validated(
        _ outcome: Result<SentRequest, any Error>, _ observation: RequestObservation
    ) async -> Result<SentRequest, any Error> {
        guard case .success(let sent) = outcome else { return outcome }
        do {
            try await stations.validation.validate(sent, stations.response.heads, observation)
            return outcome
        } catch {
            return .failure(error.asApproovError(isRepeatable: sent.isIdempotent))
        }
    }

    /// Returns the head of the response to a request.
    ///
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the head.
    func head(of sent: SentRequest) throws -> HTTPURLResponse { try stations.response.heads.head(of: sent) }
}
