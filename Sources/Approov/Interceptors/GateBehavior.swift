/// How a session's gate treats a request while an interceptor adapts it.
public enum GateBehavior: Sendable, Hashable {
    /// Other requests go on.
    case none
    /// The session waits for the requests under way, and holds others, before it calls ``RequestInterceptor/adapt(_:)``; that is the work of
    /// a ``RequestGate/barrier(waiting:limit:_:)``.
    ///
    /// Return it only while it is needed, for example while a token has expired: each time, all requests of the gate wait for each other.
    /// The session asks again when nothing is under way; a request that needs the barrier no longer is then adapted without one. The waiting
    /// counts against the request's total timeout.
    case awaitsOutgoing
}
