public import Foundation
public import FoundationNetworking
import HTTPClient

extension ApproovSession {
    /// Performs a request and returns the response's body as it arrives.
    ///
    /// - Parameter request: The request.
    /// - Returns: The body as a sequence of bytes, and the response's head.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func bytes(for request: URLRequest) async throws -> (ApproovBytes, HTTPURLResponse) {
        guard let flight = flights?.begin(request) else {
            let (body, head) = try await stream(request, nil)
            return (ApproovBytes(body, isRepeatable: request.isIdempotent), head)
        }
        let (body, head) = try await flight.run { [self] in try await stream(request, flight) }
        return (ApproovBytes(body, isRepeatable: request.isIdempotent, flight: flight), head)
    }

    private func stream(_ request: URLRequest, _ flight: RequestFlight?) async throws -> (ResponseBody, HTTPURLResponse) {
        if try isWrapped(request) {
            let (data, head) = try await wrappedData(for: request, isStreamed: true)
            return (ResponseBody(bytes: [UInt8](data)), head)
        }
        let observation = observed(request, RequestObservation(isStreamed: true, flight: flight))
        do {
            let sent = try await performer.perform(request, body: RequestBody(of: request), observation: observation)
            let head = try performer.head(of: sent)
            let body = observation.call.map { ResponseBody(ObservedBody(body: sent.response.body, call: $0)) } ?? sent.response.body
            return (body, head)
        } catch {
            let error = error.asApproovError(isRepeatable: request.isIdempotent)
            observation.call?.fail(error)
            throw error
        }
    }

    /// Performs a GET request and returns the response's body as it arrives.
    ///
    /// - Parameter url: The URL.
    /// - Returns: The body as a sequence of bytes, and the response's head.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func bytes(from url: URL) async throws -> (ApproovBytes, HTTPURLResponse) {
        try await bytes(for: URLRequest(url: url))
    }
}
