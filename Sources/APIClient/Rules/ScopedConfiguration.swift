/// What rules set for the requests that they match.
public struct ScopedConfiguration: Sendable {
    /// Headers to add, by name; a header that the request has already is not replaced.
    public var headers: [String: String] = [:]
    /// The idle timeout; nil, the default, for that of the request or the session.
    public var timeout: Duration?
    /// How often to send a request again after a failure that leaves no doubt that the server does not execute it twice; 0 by default.
    public var retries = 0
    /// The statuses to accept in place of the client's; nil, the default, for those of the client.
    public var statuses: Range<Int>?
    /// The fields in which the content reports success or failure; nil, the default, for those of the client.
    public var envelope: ResponseEnvelope?

    /// Makes a configuration that changes nothing.
    public init() {}
}
