extension ApproovSession {
    /// Lets the requests under way end, and refuses further ones with code `sessionInvalidated`.
    ///
    /// A task that was made before can still be started, and ends as usual. All sessions that were made from this one with
    /// ``adding(interceptors:validators:)``, and the one that this session was made from, end with it.
    ///
    /// The wrapped `URLSession` and the service stay as they are.
    public func finishTasksAndInvalidate() {
        cancelPrefetching()
        performer.stations.life.finish()
    }

    /// Ends the requests under way, and refuses further ones, with code `sessionInvalidated`.
    ///
    /// Transfers end at once: connections of HTTP/1.1 are closed, and streams of HTTP/2 are reset. So do requests that wait: for a token, at
    /// a gate, before a retry, or while their task is suspended; nothing more of them is sent. A request that waits in the app's own code,
    /// such as an interceptor, ends when that code returns. A `transport` other than `CurlTransport` finishes what it has begun, and the
    /// wrapped `URLSession` finishes the requests that it performs itself. The wrapped session and the service stay usable.
    ///
    /// The handler of a task that was not started gets a `CancellationError`, if the app still holds the task. All sessions that were made from this one with
    /// ``adding(interceptors:validators:)``, and the one that this session was made from, end with it.
    public func invalidateAndCancel() {
        cancelPrefetching()
        performer.stations.life.cancel(on: performer.stations.transport.transport)
    }
}
