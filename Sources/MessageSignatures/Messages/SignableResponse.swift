public import HTTPTypes

/// The parts of a response that a signature can cover.
public struct SignableResponse: Sendable {
    /// The status code, three digits.
    public let status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The trailers; nil if there are none.
    public var trailers: HTTPFields?
    /// The request that this response answers, for components with the parameter `req`.
    public var request: SignableRequest?

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - status: The status code, 100 to 999.
    ///   - fields: The header fields.
    ///   - trailers: The trailers; nil if there are none.
    ///   - request: The request that this response answers, for components with the parameter `req`.
    /// - Throws: ``MessageSignatureError`` with code `invalidMessage` when the status does not have three digits.
    public init(
        status: Int, fields: HTTPFields, trailers: HTTPFields? = nil, answering request: SignableRequest? = nil
    ) throws(MessageSignatureError) {
        guard (100...999).contains(status) else {
            throw MessageSignatureError(.invalidMessage, "a status has three digits (RFC 9110, section 15)")
        }
        self.status = status
        self.fields = fields
        self.trailers = trailers
        self.request = request
    }
}
