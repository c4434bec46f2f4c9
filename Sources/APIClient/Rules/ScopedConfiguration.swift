public import Approov

/// What rules set for the requests that they match.
public struct ScopedConfiguration: Sendable {
    /// Headers to add, by name; a header that the request or the client sets is not replaced.
    ///
    /// One that comes only from the wrapped session's `httpAdditionalHeaders` is replaced.
    ///
    /// A header whose name is unknown, such as `X-User`, may be a secret: observers of the session do not see its value, and it is not sent
    /// after a redirect to another origin.
    ///
    /// An `Idempotency-Key` here does not make a POST repeatable, because rules run again for each attempt. Give the key to the request.
    public var headers: [String: String] = [:]
    /// The idle timeout of requests for which neither the request nor the client sets one; nil, the default, for that of the session.
    public var timeout: Duration?
    /// When to send a request again; nil, the default, for what the session's own interceptors decide.
    ///
    /// The session's interceptors are asked first, so a policy here can only add retries. To retry less for some URLs, give the session no
    /// policy, and use rules alone.
    public var retries: RetryPolicy?
    /// The statuses to accept in place of the client's; nil, the default, for those of the client.
    public var statuses: Range<Int>?
    /// The validators of the responses, called after those of the session; none by default.
    public var validators: [any ResponseValidating] = []

    /// Makes a configuration that changes nothing.
    public init() {}
}
