/// How a session's gate treats a request while an interceptor adapts it.
public enum GateBehavior: Sendable, Hashable {
    /// Other requests go on.
    case none
    /// The session calls ``RequestInterceptor/adapt(_:)`` as the work of a ``RequestGate/barrier(waiting:limit:_:)``: first it waits for
    /// the requests under way, and it holds new ones.
    ///
    /// Return it only while it is needed, for example while a token has expired: each time, all requests of the gate wait for each other.
    /// When no request is under way, the session asks again, and adapts the request without a barrier if it no longer needs one. The wait
    /// counts against the request's total timeout.
    case awaitsOutgoing
}
