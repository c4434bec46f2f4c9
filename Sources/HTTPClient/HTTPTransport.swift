/// Performs one HTTP request: the seam between the SDK and the network.
///
/// Write a transport when you have another way to put bytes on the wire; write a `RequestInterceptor` (module `Approov`) when
/// you want to change requests. A whole test double:
///
/// ```swift
/// struct TeapotTransport: HTTPTransport {
///     func send(_ request: TransportRequest) async throws -> TransportResponse {
///         TransportResponse(status: 418, url: request.url)
///     }
/// }
/// ```
///
/// A transport never follows redirects (a 3xx comes back as it is), keeps no cookies and adds no credentials.
/// It evaluates the server's certificate with the request's ``TransportRequest/policy`` before a byte of the request is sent,
/// and never carries a request over a connection that was made under another policy.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns as soon as the response's head has arrived; the body follows as a stream.
    ///
    /// - Parameter request: the request, with the trust policy that its connection must satisfy.
    /// - Returns: the response. Dropping its body unread ends the transfer.
    /// - Throws: `TransportError`, or `CancellationError` when the task is cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}
