/// The names of the headers that carry the token and the trace ID.
public struct TokenHeader: Sendable, Hashable {
    /// The name of the header that carries the token.
    public var name: String
    /// The text before the token, such as "Bearer ".
    public var prefix: String
    /// The name of the header that carries the trace ID; nil to send no trace ID.
    public var traceIDName: String?

    /// Creates the header names.
    ///
    /// - Parameters:
    ///   - name: The name of the header that carries the token.
    ///   - prefix: The text before the token, such as "Bearer ".
    ///   - traceIDName: The name of the header that carries the trace ID; nil to send no trace ID.
    public init(name: String = "Approov-Token", prefix: String = "", traceIDName: String? = "Approov-TraceID") {
        self.name = name
        self.prefix = prefix
        self.traceIDName = traceIDName
    }
}
