public import Foundation
public import FoundationNetworking
package import HTTPClient
import Synchronization

extension ApproovSession {
    /// Performs a request and returns the response's body as it arrives.
    ///
    /// - Parameter request: The request.
    /// - Returns: The body as a sequence of bytes, and the response's head.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func bytes(for request: URLRequest) async throws -> (ApproovBytes, HTTPURLResponse) {
        try await bytes(for: request, body: nil, within: nil)
    }

    /// Performs a request with any kind of body and returns the response's body as it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body to send; nil for the request's own.
    ///   - scope: Surrounds the request; nil for none.
    /// - Returns: The body as a sequence of bytes, and the response's head.
    /// - Throws: The errors of ``bytes(for:)``.
    nonisolated(nonsending) package func bytes(
        for request: URLRequest, body: RequestBody?, within scope: (any RequestScope)?
    ) async throws -> (ApproovBytes, HTTPURLResponse) {
        try await stream(request, body: body, within: scope) { [performer] sent in
            try performer.head(of: sent)
        } wrapped: {
            $0
        }
    }

    /// Reads the beginning of a body that the caller does not want, and drops the rest.
    ///
    /// The body may have no end.
    ///
    /// - Parameters:
    ///   - bytes: The body.
    ///   - limit: The maximum number of bytes to read.
    ///   - patience: How long to read at most.
    /// - Returns: What came until then, or until the transfer failed.
    /// - Throws: `CancellationError` when the task is cancelled or the request is wiped.
    nonisolated(nonsending) package func beginning(of bytes: ApproovBytes, upTo limit: Int, within patience: Duration) async throws -> Data
    {
        let beginning = Mutex(Data())
        await performer.time.withTimeout(patience, in: performer.stations.life) {
            do {
                for try await part in bytes.chunks {
                    let isFull = beginning.withLock { data in
                        data += part.prefix(limit - data.count)
                        return data.count >= limit
                    }
                    if isFull { break }
                }
            } catch {
                // The caller refuses the response, whatever its body is.
            }
        }
        try Task.checkCancellation()
        try bytes.chunks.flight?.check()
        return beginning.withLock { $0 }
    }

    /// Performs a request and returns its body as it arrives, unless it is wiped before.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body to send; nil for the request's own.
    ///   - scope: Surrounds the request; nil for none.
    ///   - head: Makes the head for the caller from a response.
    ///   - wrapped: Makes the head for the caller from one of the wrapped session.
    /// - Returns: The body and the head.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` when the task is cancelled or the request is wiped.
    nonisolated(nonsending) func stream<Head: Sendable>(
        _ request: URLRequest, body: RequestBody?, within scope: (any RequestScope)? = nil,
        head: @escaping @Sendable (SentRequest) throws -> Head,
        wrapped: @escaping @Sendable (HTTPURLResponse) throws -> Head
    ) async throws -> (ApproovBytes, Head) {
        let flight = flights?.begin(request)
        @Sendable func perform() async throws -> (ResponseBody, Head, isRepeatable: Bool) {
            let (request, body) = request.sending(body)
            if try isWrapped(request) {
                let (data, response) = try await wrappedData(for: await request.carrying(body), isStreamed: true)
                return (ResponseBody(bytes: [UInt8](data)), try wrapped(response), request.isIdempotent)
            }
            let observation = observed(request, RequestObservation(isStreamed: true, flight: flight, scope: scope))
            do {
                let sent = try await performer.perform(request, body: body, observation: observation)
                let head = try head(sent)
                let body = observation.call.map { ResponseBody(ObservedBody(body: sent.response.body, call: $0)) } ?? sent.response.body
                return (body, head, sent.isIdempotent)
            } catch {
                let error = error.asApproovError()
                observation.call?.fail(error)
                throw error
            }
        }
        let (received, head, isRepeatable) = if let flight { try await flight.run(perform) } else { try await perform() }
        return (ApproovBytes(received, isRepeatable: isRepeatable, flight: flight), head)
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
