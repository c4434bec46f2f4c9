/// The decision whether to send a request again.
public enum RetryDecision: Sendable, Hashable {
    /// The caller gets the outcome.
    case doNotRetry
    /// The session sends the request again at once.
    case retry
    /// The session sends the request again after this delay, at most one minute.
    ///
    /// If the request's time is over before that, the caller gets the outcome.
    case retryAfter(Duration)
}
