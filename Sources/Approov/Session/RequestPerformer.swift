@_spi(Internals) import ApproovBase
import Foundation
import HTTPClient
import FoundationNetworking

/// Performs one request of the app: passes it, its redirects and its retries through the stations.
struct RequestPerformer: Sendable {
    let stations: RequestStations
    /// How long a request may take with its redirects and retries.
    let totalTimeout: Duration
    let time: any TimeSource
    private let urls = LastValue<URL, TransportURL>()

    init(_ stations: RequestStations, totalTimeout: Duration, time: any TimeSource) {
        self.stations = stations
        self.totalTimeout = totalTimeout
        self.time = time
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
        try stations.life.checkBegin()
        let deadline = RequestDeadline(after: totalTimeout, on: time)
        let first = try RedirectStep(request, body: body, urls: urls)
        var step = first
        var redirects = 0
        var attempt = 1
        var isRenewed = false
        while true {
            let outcome: Result<SentRequest, any Error>
            do {
                outcome = .success(try await stations.pass(step, by: deadline, observation))
            } catch let error as FinalError {
                throw error.cause
            } catch {
                // Before a redirect or a retry, a request was already sent. Only an idempotent one can then be repeated safely.
                let isRepeatable = first.request.isIdempotent ? true : redirects > 0 || attempt > 1 ? false : nil
                outcome = .failure(error.asApproovError(isRepeatable: isRepeatable))
            }
            if isRenewed, case .success(let sent) = outcome { stations.token.noteAnswer(to: sent) }
            if case .success(let sent) = outcome, let next = try stations.response.next(after: sent, from: step, redirects: redirects) {
                sent.ticket?.end()
                redirects += 1
                step = next
                continue
            }
            if !isRenewed, case .success(let sent) = outcome, stations.token.isRenewed(after: sent, from: step) {
                sent.ticket?.end()
                isRenewed = true
                continue
            }
            let ticket = stations.gate.gate == nil ? nil : try? outcome.get().ticket
            let isRetried =
                if let ticket {
                    try await ticket.interrupt {
                        try await stations.response.isRetried(first, after: outcome, attempt: attempt, by: deadline)
                    }
                } else {
                    try await stations.response.isRetried(first, after: outcome, attempt: attempt, by: deadline)
                }
            guard isRetried else { return try outcome.get() }
            ticket?.end()
            attempt += 1
            redirects = 0
            step = first
        }
    }

    /// Returns the head of the response to a request.
    ///
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the head.
    func head(of sent: SentRequest) throws -> HTTPURLResponse { try stations.response.heads.head(of: sent) }
}
