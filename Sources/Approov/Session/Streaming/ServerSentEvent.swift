/// One event of a server (HTML standard, section 9.2, "Server-sent events").
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event; "message" if the server gave none.
    public var event: String
    /// The data; its lines are joined by LF.
    public var data: String
    /// The last ID that the server gave, with this event or an earlier one; empty without one.
    ///
    /// Send it as Last-Event-ID to go on later.
    public var id: String
    /// How long to wait before connecting again, as the server said last; nil if it said nothing.
    public var retry: Duration?
}
