import ApproovBase
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Synchronization

/// One call of the app that observers, metrics or a tracer watch, from its start to the end of the response's body.
final class ObservedCall: Sendable {
    private struct State {
        var attempt = 1
        var redirect = 0
        /// The number of requests that were sent.
        var sent = 0
        var sentAt: Duration = .zero
        var target: CallTarget?
        var status: Int?
        /// What observers and the tracer get; nil without them.
        var request: RequestSummary?
        /// Where the request that was sent first went.
        var first: CallTarget?
        var response: ResponseSummary?
        var timings: TransferTimings?
        var isOver = false
        /// The names, in lower case, of the headers that are not shown, beside those of the session.
        var furtherSecretHeaders: [String] = []
    }

    private let observation: CallObservation
    private let number: UInt64
    private let method: String
    private let start: Duration
    private let span: CallSpan?
    /// The names, in lower case, of the session's headers that are not shown.
    private let secretHeaders: Set<String>
    private let state = Mutex(State())

    init(_ observation: CallObservation, number: UInt64, method: String, hiding secretHeaders: Set<String> = []) {
        self.secretHeaders = secretHeaders
        self.observation = observation
        self.number = number
        self.method = method
        start = observation.time.uptime
        span = observation.tracing?.begin(method)
    }

    /// The closure that takes the timings of a transfer; nil if no observer wants them.
    var onTimings: (@Sendable (TransferTimings) -> Void)? {
        guard observation.wantsTimings else { return nil }
        return { [self] timings in state.withLock { $0.timings = timings } }
    }

    /// Hides the values of further headers, in requests and in responses, if their names say that they may be secrets.
    ///
    /// - Parameter names: The names.
    func hideSecrets(among names: some Sequence<String>) {
        guard observation.showsHeaders else { return }
        let secret = names.filter(ApproovSession.mayBeSecret).map { $0.lowercased() }
        if !secret.isEmpty { state.withLock { $0.furtherSecretHeaders += secret } }
    }

    /// The names, in lower case, of the headers that are not shown; only for a session that shows some.
    private func hiddenHeaders(_ state: State) -> Set<String> {
        observation.showsHeaders ? secretHeaders.union(state.furtherSecretHeaders) : []
    }

    /// Notes where the call is.
    func begins(attempt: Int, redirect: Int) {
        state.withLock { ($0.attempt, $0.redirect) = (attempt, redirect) }
    }

    /// Adds the trace context to a request that goes directly to the origin that the app called.
    func inject(into draft: inout RequestDraft, of step: RedirectStep, isDirect: Bool) {
        guard let span, isDirect, !step.hasLeftOrigin else { return }
        span.inject(into: &draft.fields)
    }

    /// The session hands the request to its transport.
    func willSend(_ request: TransportRequest, isAttested: Bool, isOblivious: Bool) {
        let now = observation.time.uptime
        let target = observation.targets.target(of: request, isAttested: isAttested, isOblivious: isOblivious)
        var (attempt, redirect) = (0, 0)
        let hidden = state.withLock { state in
            (attempt, redirect) = (state.attempt, state.redirect)
            state.target = target
            state.request = nil
            state.response = nil
            state.status = nil
            state.timings = nil
            state.sentAt = now
            state.sent += 1
            if state.sent == 1 { state.first = target }
            return hiddenHeaders(state)
        }
        guard observation.describesRequests else { return }
        var summary = RequestSummary(request, to: target, call: number, attempt: attempt, redirect: redirect)
        state.withLock { [summary] in $0.request = summary }
        for queue in observation.queues where queue.wantsHeads {
            summary.shownHeaders = queue.shown.values(of: request.headerFields, hiding: hidden)
            queue.post(.willSend(summary))
        }
    }

    /// The head of the response has arrived.
    func didReceive(_ response: TransportResponse) {
        let now = observation.time.uptime
        guard observation.describesRequests else { return state.withLock { $0.status = response.status } }
        let names = RequestSummary.names(of: response.headerFields)
        let size = response.headerFields.scanValue(of: .contentLength).flatMap { Int($0) }
        var (summary, hidden) = state.withLock { state in
            let summary = ResponseSummary(
                call: number, attempt: state.attempt, redirect: state.redirect, status: response.status, version: response.version,
                headerNames: names, bodySize: size, duration: now - state.sentAt)
            state.response = summary
            state.status = response.status
            return (summary, hiddenHeaders(state))
        }
        for queue in observation.queues where queue.wantsHeads {
            summary.shownHeaders = queue.shown.values(of: response.headerFields, hiding: hidden)
            queue.post(.didReceive(summary))
        }
    }

    /// The session tries again.
    func willRetry(after outcome: Result<SentRequest, any Error>) {
        guard case .failure(let error) = outcome else { return }
        report(error, state.withLock { $0 }, willRetry: true)
    }

    /// The call has ended with a response, whose body has been read; the first end counts.
    ///
    /// - Parameter received: The size of the body.
    func finish(received: Int) {
        guard let state = end(), let target = state.target, let status = state.status else { return }
        let duration = observation.time.uptime - start
        observation.metrics?.finished(method: method, target: target, status: status, duration: duration)
        guard let request = state.request, let response = state.response else { return }
        span?.end(state.first, status: response.status, version: response.version, resent: state.sent - 1)
        guard !observation.queues.isEmpty else { return }
        let metrics = CallMetrics(
            call: number, request: request, response: response, attempts: state.attempt, receivedBytes: received, duration: duration,
            timings: state.timings)
        // One event for all, because its payload is large.
        let event = SessionEvent.didFinish(metrics)
        for queue in observation.queues { queue.post(event) }
    }

    /// The call has failed; the first end counts.
    func fail(_ error: any Error) {
        guard let state = end() else { return }
        let code = Self.code(of: error)
        observation.metrics?.failed(method: method, target: state.target, code: code, duration: observation.time.uptime - start)
        span?.end(state.first, failure: code, status: state.status, resent: max(0, state.sent - 1))
        report(error, state, willRetry: false)
    }

    private func end() -> State? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            var over = State()
            over.isOver = true
            // Moves what the call has kept, instead of copying it.
            return exchange(&state, with: over)
        }
    }

    private func report(_ error: any Error, _ state: State, willRetry: Bool) {
        guard !observation.queues.isEmpty else { return }
        let failure = CallFailure(
            call: number, attempt: state.attempt, request: state.request, code: Self.code(of: error), message: Self.message(of: error),
            willRetry: willRetry, duration: observation.time.uptime - start, timings: state.timings)
        let event = SessionEvent.didFail(failure)
        for queue in observation.queues { queue.post(event) }
    }

    /// The kind of failure; nil for a cancellation.
    private static func code(of error: any Error) -> ApproovError.Code? {
        if error is CancellationError { return nil }
        return (error.asApproovError() as? ApproovError)?.code ?? .permanentError
    }

    /// The failure without its causes, which may be errors of the app with any text; escaped, because the app may have made this one, too.
    private static func message(of error: any Error) -> String {
        if error is CancellationError { return "the task was cancelled, or the body was dropped before its end" }
        return LoggableText.quoted((error.asApproovError() as? ApproovError)?.message ?? "the request failed", limit: 1_000)
    }
}
