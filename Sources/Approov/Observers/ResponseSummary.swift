import HTTPClient

/// The head of a response that a session received, without the values of its header fields.
public struct ResponseSummary: Sendable, Hashable {
    /// The number of the app's call in its session, starting with 1.
    public let call: UInt64
    /// The number of the attempt, starting with 1.
    public let attempt: Int
    /// The number of redirects before this response in this attempt.
    public let redirect: Int
    /// The status.
    public let status: Int
    /// The protocol, such as "HTTP/2".
    public let version: String
    /// The names of the header fields in order, in lower case; at most 100.
    public let headerNames: [String]
    /// The values of the fields that the observer named in `SessionObserver.shownHeaders`, by lower-case name, each cut after 256 characters.
    public internal(set) var shownHeaders: [String: String] = [:]
    /// The size of the body in bytes as the server announced it; nil if it did not, or if the content is compressed.
    public let bodySize: Int?
    /// The time from `SessionObserver.willSend(_:)` to the head, on the session's clock.
    public let duration: Duration
}
