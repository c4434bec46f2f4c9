package import Foundation
package import FoundationNetworking
import HTTPClient
import HTTPTypes

extension ApproovSession {
    /// Does work for a request whose response may come from a cache, unless the request is wiped before the work ends.
    ///
    /// Returns to the caller's actor without leaving it after the last check, like ``data(for:limit:onProgress:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: Surrounds the work.
    ///   - work: The work; its argument is the request as it will be sent, nil if no cache may keep the response: the wrapped session
    ///     performs the request, the session adds header fields to each request, or an interceptor made it another one than GET.
    /// - Returns: The work's value.
    /// - Throws: ``ApproovError`` when the session does not allow the request; `CancellationError` when the request is wiped; any error of the
    ///   session's interceptors and of the work.
    nonisolated(nonsending) package func unlessWiped<Value: Sendable>(
        _ request: URLRequest, within scope: any RequestScope, _ work: @escaping @Sendable (CacheableRequest?) async throws -> Value
    ) async throws -> Value {
        guard let flight = flights?.begin(request) else {
            return try await scope.run { try await work(try await cacheable(request, nil)) }
        }
        return try await flight.run { [self] in
            try await scope.run { try await work(try await cacheable(request, flight)) }
        }
    }

    /// Performs a request of ``unlessWiped(_:within:_:)`` and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit.
    ///   - probe: Notes how the request is sent; nil if no cache needs that.
    /// - Returns: The response's body and head.
    /// - Throws: The errors of ``data(for:limit:onProgress:)``.
    package func data(for request: URLRequest, limit: Int?, noting probe: RequestProbe?) async throws -> (Data, HTTPURLResponse) {
        // The call was admitted before the cache was asked.
        var observation = RequestObservation(bodyLimit: limit, isAdmitted: true)
        observation.probe = probe
        return try await data(for: request, body: nil, observation: observation)
    }

    /// Has the session's validators judge a response from a cache.
    ///
    /// - Parameters:
    ///   - head: The response's head.
    ///   - body: Its content.
    /// - Throws: ``ApproovError`` with code `responseRefused`.
    package func validate(_ head: HTTPURLResponse, _ body: Data) throws {
        let validation = performer.stations.validation
        if !validation.isOff { try validation.validate(head, body) }
    }

    private func cacheable(_ request: URLRequest, _ flight: RequestFlight?) async throws -> CacheableRequest? {
        let stations = performer.stations
        guard try !isWrapped(request), stations.perRequestHeaders.isOff else { return nil }
        do {
            let step = try RedirectStep(request, body: .none)
            var (_, draft) = try stations.begin(step, flight)
            let deadline = RequestDeadline(after: performer.totalTimeout, on: performer.time, in: stations.life)
            try await stations.interceptors.adapt(&draft, by: deadline, hasLeftOrigin: false, isSent: false)
            try stations.defaults.finish(&draft)
            // An interceptor may have changed the method.
            guard draft.method == .get else { return nil }
            return CacheableRequest(draft, flight, stations.defaults.defaults)
        } catch let error as FinalError {
            throw error.cause
        } catch let error as ApproovError where error.isRetryable && stations.interceptors.mayDelay {
            // Without the delay there may be no network for an interceptor. The request itself waits for it.
            return nil
        } catch {
            throw error.asApproovError(isRepeatable: true)
        }
    }
}
