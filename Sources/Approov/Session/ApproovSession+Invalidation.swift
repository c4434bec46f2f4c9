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
    /// token or at a gate fails when that wait ends, and nothing of it is sent. A `transport` other than `CurlTransport` goes on with what it
    /// has begun, and so does the wrapped `URLSession` with requests that it performs itself. The wrapped session and the service stay as
    /// they are.
    public func invalidateAndCancel() {
        cancelPrefetching()
        performer.stations.life.cancel(on: performer.stations.transport.transport)
    }
}
