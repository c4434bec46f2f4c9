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
            let (data, head) = try await wrapped.data(for: request)
            return (ResponseBody(bytes: [UInt8](data)), head)
        }
        do {
            let observation = RequestObservation(isStreamed: true, flight: flight)
            let sent = try await performer.perform(request, body: RequestBody(of: request), observation: observation)
            return (sent.response.body, try performer.head(of: sent))
        } catch {
            throw error.asApproovError(isRepeatable: request.isIdempotent)
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
