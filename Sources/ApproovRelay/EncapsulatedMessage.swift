internal import HTTPTypes

/// The two ways to encapsulate a message, which its media type tells apart.
///
/// A relay reads nothing else of a message.
enum EncapsulatedMessage: Sendable, CaseIterable {
    /// As a whole (RFC 9458, section 4).
    case whole
    /// In chunks (draft-ietf-ohai-chunked-ohttp).
    case chunked

    /// Recognises the media type of a request.
    ///
    /// - Parameter requestType: The type and subtype in lower case; the result is nil for any other than these two.
    init?(requestType: String) {
        guard let kind = Self.allCases.first(where: { $0.requestType == requestType }) else { return nil }
        self = kind
    }

    /// The media type of a request.
    var requestType: String {
        switch self {
        case .whole: "message/ohttp-req"
        case .chunked: "message/ohttp-chunked-req"
        }
    }

    /// The media type of its response.
    var responseType: String {
        switch self {
        case .whole: "message/ohttp-res"
        case .chunked: "message/ohttp-chunked-res"
        }
    }

    /// The header fields of a request.
    var requestFields: HTTPFields { fields(requestType) }

    /// The header fields of a response.
    var responseFields: HTTPFields {
        var fields = fields(responseType)
        fields[.cacheControl] = "no-store"
        return fields
    }

    private func fields(_ type: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: type]
        // Chunks must be forwarded as they come (draft-ietf-ohai-chunked-ohttp, section 3), even by proxies that would gather them.
        if self == .chunked, let incremental = HTTPField.Name("Incremental") { fields[incremental] = "?1" }
        return fields
    }

    /// The most bytes that a message may have.
    func bytes(in limits: RelayConfiguration.Limits) -> Int {
        switch self {
        case .whole: limits.messageBytes
        case .chunked: limits.chunkedMessageBytes
        }
    }
}
