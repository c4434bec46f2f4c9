package import Foundation

/// An interceptor that may wait, and leaves requests as they are.
///
/// The session does not call it for a response that a cache has.
package protocol DelayingInterceptor: RequestInterceptor {}

/// An interceptor that never waits: it only adds to requests, and decides at once.
///
/// The session adds to the header fields themselves, because Foundation takes longer to copy a request than the session for the rest. After a
/// redirect to another origin it adds no header that may be a secret.
package protocol AddingInterceptor: RequestInterceptor {
    /// What a request gets; called in place of ``RequestInterceptor/adapt(_:)``.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The additions; nil for none.
    func additions(for url: URL) -> RequestAdditions?

    /// Decides whether to send a request again; called in place of ``RequestInterceptor/retry(_:)``.
    ///
    /// - Parameter exchange: The attempt and its outcome.
    /// - Returns: The decision.
    func retryAtOnce(_ exchange: RequestExchange) -> RetryDecision
}
