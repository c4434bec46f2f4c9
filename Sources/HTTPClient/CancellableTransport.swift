/// A transport that obeys ``TransferOptions/cancellation``: the request, and the reading of its response's body, then end with a
/// `CancellationError`.
package protocol CancellableTransport: HTTPTransport {}
