public import HTTPClient

/// What a ``ReplayTransport`` does with a request that no recording answers.
public enum UnmatchedRequests: Sendable {
    /// The request fails with `TransportError` with code `recordingMissing`.
    case fail
    /// The request gets an empty response with this status, 200...599.
    case respond(status: Int)
    /// Another transport sends the request, for example one that records.
    case send(over: any HTTPTransport)
}
