/// Performs one HTTP request: the seam between the SDK and the network.
///
/// Write a transport to put requests on the wire another way than with libcurl. Write a `RequestInterceptor` (module `Approov`) to change
/// requests. A complete test double:
///
/// ```swift
/// struct TeapotTransport: HTTPTransport {
///     func send(_ request: TransportRequest) async throws -> TransportResponse {
///         TransportResponse(status: 418, url: request.url)
///     }
/// }
/// ```
///
/// A transport never follows redirects (it returns a 3xx response unchanged), keeps no cookies and adds no credentials. It evaluates the
/// server's certificate with the request's ``TransportRequest/policy`` before it sends any byte of the request, and never sends a request
/// over a connection that was made under another policy.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns as soon as the response's head has arrived; the body follows as a stream.
    ///
    /// - Parameter request: The request, with the trust policy that its connection must satisfy.
    /// - Returns: The response. Dropping its body unread ends the transfer.
    /// - Throws: ``TransportError`` when the request fails; `CancellationError` when the task is cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}
