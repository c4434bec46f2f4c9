/// The headers that carry token and trace ID.
public struct TokenHeader: Sendable, Hashable {
    /// The name of the header that carries the token.
    public var name: String
    /// What stands before the token, such as "Bearer ".
    public var prefix: String
    /// The name of the header that carries the trace ID; nil: none is sent.
    public var traceIDName: String?

    /// Names the headers.
    ///
    /// - Parameters:
    ///   - name: The name of the header that carries the token.
    ///   - prefix: What stands before the token, such as "Bearer ".
    ///   - traceIDName: The name of the header that carries the trace ID; nil: none is sent.
    public init(name: String = "Approov-Token", prefix: String = "", traceIDName: String? = "Approov-TraceID") {
        self.name = name
        self.prefix = prefix
        self.traceIDName = traceIDName
    }
}
