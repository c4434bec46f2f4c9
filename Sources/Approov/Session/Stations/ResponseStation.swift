import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Station 9: stores cookies, follows redirects, and asks the interceptors whether to send a request again.
///
/// ``ValidationStation`` comes before the interceptors decide. It is a class, so that no request copies it: its parts are shared by all
/// threads, and each copy would count references to each of them.
final class ResponseStation: Sendable {
    /// The maximum number of times that a request is sent again because an interceptor asks for it.
    static let maximumRetries = 8
    /// The longest wait before a retry.
    static let longestRetryDelay: Duration = .seconds(60)

    /// The storage of the wrapped session's cookies; nil if it uses none.
    let cookies: SessionCookies?
    let interceptors: [any RequestInterceptor]
    private let retriers: [Retrier]
    /// The names of the token and binding headers; nil without a service.
    let names: TokenHeaderNames?
    /// The names, in lower case, of the headers that may carry a secure string.
    let substitutedHeaders: Set<String>
    let maximumRedirects: Int
    let time: any TimeSource
    let heads: ResponseHeads

    init(
        cookies: SessionCookies?, interceptors: [any RequestInterceptor], names: TokenHeaderNames?, substitutedHeaders: Set<String>,
        maximumRedirects: Int, time: any TimeSource, heads: ResponseHeads = ResponseHeads()
    ) {
        self.cookies = cookies
        self.interceptors = interceptors
        retriers = interceptors.map(Retrier.init)
        self.names = names
        self.substitutedHeaders = substitutedHeaders
        self.maximumRedirects = maximumRedirects
        self.time = time
        self.heads = heads
    }

    /// Returns the same station with further interceptors after the others.
    func adding(_ further: [any RequestInterceptor]) -> ResponseStation {
        ResponseStation(
            cookies: cookies, interceptors: interceptors + further, names: names, substitutedHeaders: substitutedHeaders,
            maximumRedirects: maximumRedirects, time: time, heads: heads)
    }

    /// Stores the cookies of a response, and returns the step that its redirect asks for.
    ///
    /// - Parameters:
    ///   - sent: The request with its response.
    ///   - step: The step that was sent.
    ///   - redirects: The number of redirects before this one.
    ///   - flight: The request that may be wiped; nil if it cannot be.
    /// - Returns: The next step; nil if the response is no redirect, or none is followed.
    /// - Throws: ``ApproovError`` with code `redirectRefused` when the redirect must not or cannot be followed; `CancellationError` when
    ///   the request was wiped, whose cookies are then not stored.
    func next(after sent: SentRequest, from step: RedirectStep, redirects: Int, _ flight: RequestFlight? = nil) throws -> RedirectStep? {
        // Most responses have no cookies, and Foundation takes a while to answer the second question.
        if let cookies, sent.response.headerFields.scan(for: .setCookie), step.request.httpShouldHandleCookies {
            if let flight {
                try flight.storeCookies { cookies.store(from: sent.response, to: sent.url) }
            } else {
                cookies.store(from: sent.response, to: sent.url)
            }
        }
        guard maximumRedirects > 0, RedirectRules.isRedirect(sent.response.status) else { return nil }
        guard
            var next = try RedirectRules.next(
                after: sent.response, from: step, at: sent.url, demandsTLS: sent.demandsTLS, names: names,
                substitutes: sent.substitutes, substitutedHeaders: substitutedHeaders)
        else { return nil }
        guard redirects < maximumRedirects else {
            throw ApproovError(
                .redirectRefused,
                "more than \(maximumRedirects) redirects, the last one by \(step.url.host): raise maximumRedirects, or fix the loop at the"
                    + " server")
        }
        if sent.isOblivious { next.isBehindRelay = true }
        next.followsNonIdempotent = !sent.isIdempotent
        // A redirect that keeps the method asks for the request itself at another URL (RFC 9110, section 15.4), so it was not executed.
        let isResult = next.request.httpMethod != sent.method.rawValue
        next.isAfterExecution = sent.isAfterExecution || !sent.isIdempotent && isResult
        return next
    }

    /// Whether the interceptors are asked to have a request sent again.
    ///
    /// - Parameters:
    ///   - first: The request as the caller made it.
    ///   - attempt: The number of times the request has been sent.
    /// - Returns: Whether they are asked.
    func asksRetriers(about first: RedirectStep, attempt: Int) -> Bool {
        guard !interceptors.isEmpty, attempt <= Self.maximumRetries else { return false }
        // This applies even if a redirect dropped the body, because a retry sends the first request again.
        if case .stream = first.body { return false }
        return true
    }

    /// Begins to renew a credential that a response refuses, for later requests, if the request itself cannot be sent again.
    ///
    /// - Parameters:
    ///   - sent: The request with its response.
    ///   - first: The request as the caller made it.
    ///   - hasLeftOrigin: Whether a redirect led it to another origin.
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the response's head.
    func renewRefused(_ sent: SentRequest, _ first: RedirectStep, hasLeftOrigin: Bool) throws {
        guard case .stream = first.body, !retriers.isEmpty else { return }
        let exchange = try exchange(of: sent, first, attempt: 1, hasLeftOrigin: hasLeftOrigin)
        for case .renews(let interceptor) in retriers where interceptor.isRefused(exchange) { interceptor.renewRefused(exchange) }
    }

    private func exchange(of sent: SentRequest, _ first: RedirectStep, attempt: Int, hasLeftOrigin: Bool) throws -> RequestExchange {
        RequestExchange(
            request: first.request, perRequestFields: first.perRequestFields, sent: { sent.adapted },
            outcome: .response(try heads.head(of: sent)), attempt: attempt, ownRetries: 0, hasLeftOrigin: hasLeftOrigin,
            isAfterExecution: sent.isAfterExecution, isIdempotent: { sent.isIdempotent })
    }

    /// The first interceptor that may want to send the request again, as far as that can be told without a wait.
    ///
    /// Most responses are final, and each wait costs more than the decision.
    ///
    /// - Parameters:
    ///   - sent: The request with its response.
    ///   - first: The request as the caller made it.
    ///   - attempt: The number of times the request has been sent.
    ///   - hasLeftOrigin: Whether a redirect led the attempt to another origin.
    ///   - retries: The indices of the interceptors that had the request sent again, in order.
    /// - Returns: The interceptor and its answer; nil if no interceptor wants that.
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the response's head.
    func firstRetrier(
        for sent: SentRequest, _ first: RedirectStep, attempt: Int, hasLeftOrigin: Bool, retries: [Int]
    ) throws -> RetrierStart? {
        var exchange = try exchange(of: sent, first, attempt: attempt, hasLeftOrigin: hasLeftOrigin)
        for (index, retrier) in retriers.enumerated() {
            if attempt > 1 { exchange.ownRetries = retries.count { $0 == index } }
            let answer = retrier.answer(to: exchange)
            if case .decided(.doNotRetry) = answer { continue }
            return RetrierStart(index: index, answer: answer)
        }
        return nil
    }

    /// Asks the interceptors whether to send the request again, and waits if they ask for a delay.
    ///
    /// - Parameters:
    ///   - first: The request as the caller made it.
    ///   - outcome: The response, or the failure, which may be a validator's.
    ///   - answered: The request whose response arrived, whatever a validator says of it; nil if none arrived.
    ///   - start: The interceptor to ask first.
    ///   - attempt: The number of times the request has been sent.
    ///   - hasLeftOrigin: Whether a redirect led the attempt to another origin.
    ///   - retries: The indices of the interceptors that had the request sent again, in order.
    ///   - deadline: The end of the time for the request.
    ///   - observation: The request, whose wipe ends the wait.
    /// - Returns: Whether to send it again.
    /// - Throws: ``ApproovError`` with code `timedOut` when no time is left to wait; `CancellationError` when the task is cancelled.
    func askRetriers(
        _ first: RedirectStep, after outcome: Result<SentRequest, any Error>, to answered: SentRequest?,
        from start: RetrierStart = RetrierStart(), attempt: Int, hasLeftOrigin: Bool, retries: inout [Int], by deadline: RequestDeadline,
        _ observation: RequestObservation
    ) async throws -> Bool {
        let seen: RequestOutcome
        switch outcome {
        case .success(let sent):
            seen = .response(try heads.head(of: sent))
        case .failure(let error):
            guard !(error is CancellationError) else { return false }
            seen = .failure(error)
        }
        var exchange = RequestExchange(
            request: first.request, perRequestFields: first.perRequestFields, sent: { answered?.adapted }, outcome: seen,
            attempt: attempt, ownRetries: 0, hasLeftOrigin: hasLeftOrigin, isAfterExecution: answered?.isAfterExecution ?? false,
            isIdempotent: { answered?.isIdempotent ?? first.isIdempotent })
        for index in retriers.indices.dropFirst(start.index) {
            if attempt > 1 { exchange.ownRetries = retries.count { $0 == index } }
            let answer = index == start.index ? start.answer : nil
            switch try await (answer ?? retriers[index].answer(to: exchange)).decision(about: exchange, by: deadline, observation) {
            case .doNotRetry: continue
            case .retry:
                retries.append(index)
                return true
            case .retryAfter(let delay):
                let delay = min(max(delay, .zero), Self.longestRetryDelay)
                // The caller gets this outcome rather than a timeout.
                guard let left = try? deadline.remaining, delay < left else { return false }
                retries.append(index)
                try await observation.waiting { try await deadline.sleep(for: delay) }
                return true
            }
        }
        return false
    }
}

/// Where to begin to ask the interceptors whether to send a request again.
struct RetrierStart {
    var index = 0
    /// That interceptor's answer; nil if it was not asked yet.
    ///
    /// Kept, because it may ask the app, which decides once.
    var answer: RetrierAnswer?
}

/// An interceptor's answer, without a wait, to the question whether to send a request again.
enum RetrierAnswer {
    case decided(RetryDecision)
    /// It decides after a wait.
    case mustWait(any RequestInterceptor)
    /// The response refuses its credential: it decides after a renewal.
    case renews(any CredentialInterceptor)

    /// The decision; a wipe and the end of the request's time end the wait for a renewal.
    func decision(
        about exchange: RequestExchange, by deadline: RequestDeadline, _ observation: RequestObservation
    ) async throws -> RetryDecision {
        switch self {
        case .decided(let decision): return decision
        case .mustWait(let interceptor): return await interceptor.retry(exchange)
        case .renews(let interceptor):
            do {
                return try await observation.waiting { try await deadline.limit { await interceptor.retryRefused(exchange) } }
            } catch let error as FinalError {
                throw error.cause
            }
        }
    }
}

/// An interceptor that decides whether a request is sent again.
private enum Retrier: Sendable {
    case decides(any RequestInterceptor)
    case decidesAtOnce(any AddingInterceptor)
    case renews(any CredentialInterceptor)

    init(_ interceptor: any RequestInterceptor) {
        self =
            switch interceptor {
            case let adding as any AddingInterceptor: .decidesAtOnce(adding)
            case let credential as any CredentialInterceptor: .renews(credential)
            default: .decides(interceptor)
            }
    }

    func answer(to exchange: RequestExchange) -> RetrierAnswer {
        switch self {
        case .decides(let interceptor): .mustWait(interceptor)
        case .decidesAtOnce(let interceptor): .decided(interceptor.retryAtOnce(exchange))
        case .renews(let interceptor): interceptor.isRefused(exchange) ? .renews(interceptor) : .decided(.doNotRetry)
        }
    }
}
