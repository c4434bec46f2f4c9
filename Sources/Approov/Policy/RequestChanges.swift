/// The names of the parts of a request that the session has added or replaced; never their values.
public struct RequestChanges: Sendable, Hashable {
    /// The header that carries the token, or the status in its place; nil if the request has neither.
    public var tokenHeader: String?
    /// The header that carries the trace ID; nil if the request has none.
    public var traceIDHeader: String?
    /// The headers in which a secure string replaces a placeholder.
    public var substitutedHeaders: [String]
    /// The query parameters in which a secure string replaces a placeholder.
    public var substitutedQueryParameters: [String]

    /// Makes a list of changes.
    ///
    /// - Parameters:
    ///   - tokenHeader: The header that carries the token, or the status in its place.
    ///   - traceIDHeader: The header that carries the trace ID.
    ///   - substitutedHeaders: The headers in which a secure string replaces a placeholder.
    ///   - substitutedQueryParameters: The query parameters in which a secure string replaces a placeholder.
    public init(
        tokenHeader: String? = nil, traceIDHeader: String? = nil, substitutedHeaders: [String] = [],
        substitutedQueryParameters: [String] = []
    ) {
        self.tokenHeader = tokenHeader
        self.traceIDHeader = traceIDHeader
        self.substitutedHeaders = substitutedHeaders
        self.substitutedQueryParameters = substitutedQueryParameters
    }
}
