/// The headers that carry the token, the trace ID and the status.
public struct TokenHeader: Sendable, Hashable {
    /// The name of the header that carries the token.
    public var name: String
    /// The text before the token, such as "Bearer ".
    public var prefix: String
    /// The name of the header that carries the trace ID; nil to send no trace ID.
    public var traceIDName: String?
    /// Whether a request that is sent without a token carries the name of the status in the token's place; false by default.
    ///
    /// The API then learns why there is no token. It must treat the name as any other invalid token.
    public var sendsStatusWithoutToken: Bool
    /// The letters in which the name of a status is sent in the token's place.
    public var statusCase: TokenFetchStatus.LetterCase
    /// The name of an extra header for the fetch status, which is sent with and without a token.
    ///
    /// Nil (the default) sends no such header.
    ///
    /// The status is sent in lower case. Approov's own SDK calls this header Approov-Status in release 3.8. A message signature covers it
    /// only if it is named among the signed fields.
    public var statusName: String?

    /// Creates the header names.
    ///
    /// - Parameters:
    ///   - name: The name of the header that carries the token.
    ///   - prefix: The text before the token, such as "Bearer ".
    ///   - traceIDName: The name of the header that carries the trace ID; nil to send no trace ID.
    ///   - sendsStatusWithoutToken: Whether a request that is sent without a token carries the name of the status in the token's place.
    ///   - statusCase: The letters in which the name of a status is sent in the token's place.
    ///   - statusName: The name of a further header that carries the status of the fetch, such as Approov-Status; nil for none.
    public init(
        name: String = "Approov-Token", prefix: String = "", traceIDName: String? = "Approov-TraceID",
        sendsStatusWithoutToken: Bool = false, statusCase: TokenFetchStatus.LetterCase = .upper, statusName: String? = nil
    ) {
        self.name = name
        self.prefix = prefix
        self.traceIDName = traceIDName
        self.sendsStatusWithoutToken = sendsStatusWithoutToken
        self.statusCase = statusCase
        self.statusName = statusName
    }
}
