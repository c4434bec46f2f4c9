extension ApproovSession {
    /// Lets the requests under way end, and refuses further ones with code `sessionInvalidated`.
    ///
    /// The wrapped `URLSession` and the service stay as they are.
    public func finishTasksAndInvalidate() {
        cancelPrefetching()
        performer.stations.life.finish()
    }

    /// Ends the requests under way, and refuses further ones, with code `sessionInvalidated`.
    ///
    /// What is on the wire ends at once: connections of HTTP/1.1 are closed, and streams of HTTP/2 are reset. A request that waits for a
    /// token, at a gate, to be sent again or for its task to be resumed ends at once, and nothing more of it is sent; one that waits in the
    /// app's own code, such as an interceptor, ends when that code returns. A `transport` other than `CurlTransport` goes on with what it
    /// has begun, and so does the wrapped `URLSession` with requests that it performs itself. The wrapped session and the service stay as
    /// they are.
    public func invalidateAndCancel() {
        cancelPrefetching()
        performer.stations.life.cancel(on: performer.stations.transport.transport)
    }
}
