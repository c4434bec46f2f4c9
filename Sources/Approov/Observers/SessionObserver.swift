/// Sees what a session sends and receives, without the values.
///
/// It stands in for the delegates of a `URLSession` that only watch. ``ConsoleLog`` is one.
///
/// ```swift
/// struct Slowness: SessionObserver {
///     let logger: Logger
///     func didFinish(_ metrics: CallMetrics) {
///         guard metrics.duration > .seconds(2) else { return }
///         logger.warning("slow call", metadata: ["host": "\(metrics.request.host)"])
///     }
/// }
/// configuration.observers = [Slowness(logger: logger)]
/// ```
///
/// Each observer is called on its own queue, one event after the other, so it may block without delaying a request. Up to 1,024 events
/// wait for it; if more come, the session drops them and reports their number with `didDrop(_:)`. A busy session delivers events together,
/// each up to 10 ms late, so a process that exits right after a call may lose that call's last ones. The events of one call come in
/// order. Requests that the wrapped session performs have none.
public protocol SessionObserver: Sendable {
    /// The names of header fields whose values the summaries show; none by default.
    ///
    /// Read once, when the session is made. The summaries never show the value of a field that may hold a credential, whatever is named
    /// here: Authorization, Cookie, Set-Cookie, the fields of token, binding and signature, those that hold secure strings, those that
    /// interceptors declare (``RequestInterceptor/secretHeaders``), those of an `APIClient` and its rules with an unknown name, every field
    /// whose name contains a word such as "token", "auth", "key" or "secret", and fields that hold a URL, such as Location.
    var shownHeaders: Set<String> { get }
    /// Whether the observer wants ``CallMetrics/timings``, which the transport then asks libcurl for; true by default.
    ///
    /// Read once, when the session is made.
    var wantsTimings: Bool { get }
    /// Whether the observer wants `willSend(_:)` and `didReceive(_:)`; true by default.
    ///
    /// An observer that returns false makes each call cheaper. Read once, when the session is made.
    var wantsHeads: Bool { get }
    /// The session hands a request to its transport; called again for each redirect and each attempt.
    func willSend(_ request: RequestSummary)
    /// The head of a response has arrived.
    func didReceive(_ response: ResponseSummary)
    /// A call of the app has ended with a response, whose body has been read.
    func didFinish(_ metrics: CallMetrics)
    /// A call of the app, or one attempt of it, has failed.
    func didFail(_ failure: CallFailure)
    /// The observer was too slow, and this number of events were dropped.
    func didDrop(_ count: Int)
}

extension SessionObserver {
    /// By default, no names: the summaries show no values of header fields.
    public var shownHeaders: Set<String> { [] }
    /// By default, true: the observer wants ``CallMetrics/timings``.
    public var wantsTimings: Bool { true }
    /// By default, true: the observer wants `willSend(_:)` and `didReceive(_:)`.
    public var wantsHeads: Bool { true }
    /// Does nothing.
    public func willSend(_ request: RequestSummary) {}
    /// Does nothing.
    public func didReceive(_ response: ResponseSummary) {}
    /// Does nothing.
    public func didFinish(_ metrics: CallMetrics) {}
    /// Does nothing.
    public func didFail(_ failure: CallFailure) {}
    /// Does nothing.
    public func didDrop(_ count: Int) {}
}
