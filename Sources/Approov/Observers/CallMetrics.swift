public import HTTPClient

/// How a call of the app ended well: with a response, whatever its status.
public struct CallMetrics: Sendable, Hashable {
    /// The number of the app's call in its session, starting with 1.
    public let call: UInt64
    /// The request that was sent last.
    public let request: RequestSummary
    /// The response that the app got.
    public let response: ResponseSummary
    /// The number of attempts.
    public let attempts: Int
    /// The size of the response's body in bytes, decoded.
    public let receivedBytes: Int
    /// The time from the app's call to the end of the body, on the session's clock; it includes tokens, redirects, retries and the reader.
    public let duration: Duration
    /// The phases of the last transfer; nil if the transport does not report them, or no observer wants them.
    ///
    /// Over Oblivious HTTP they are those of the transfer to the relay.
    public let timings: TransferTimings?
}

/// How a call of the app, or one attempt of it, failed.
public struct CallFailure: Sendable {
    /// The number of the app's call in its session, starting with 1.
    public let call: UInt64
    /// The number of the attempt, starting with 1.
    public let attempt: Int
    /// The request that was sent last; nil if none was.
    public let request: RequestSummary?
    /// The kind of failure; nil if the task was cancelled or the body was dropped before its end.
    public let code: ApproovError.Code?
    /// The failure and its remedy, without causes, in printable ASCII; cut after 1,000 characters.
    public let message: String
    /// Whether the session tries again, so that the call goes on.
    public let willRetry: Bool
    /// The time from the app's call to the failure, on the session's clock.
    public let duration: Duration
    /// The phases of the last transfer; nil if there was none, the transport does not report them, or no observer wants them.
    public let timings: TransferTimings?
}
