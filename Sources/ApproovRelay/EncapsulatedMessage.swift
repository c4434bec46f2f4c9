internal import HTTPTypes

/// The two ways in which a message is encapsulated, as their media types tell them apart.
///
/// It is all that a relay knows of a message.
enum EncapsulatedMessage: Sendable, CaseIterable {
    /// As a whole (RFC 9458, section 4).
    case whole
    /// In chunks (draft-ietf-ohai-chunked-ohttp).
    case chunked

    /// Reads the media type of a request.
    ///
    /// - Parameter requestType: Type and subtype in lower case; nil is returned for any other than the two.
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

    /// The fields of a request.
    var requestFields: HTTPFields { fields(requestType) }

    /// The fields of a response.
    var responseFields: HTTPFields {
        var fields = fields(responseType)
        fields[.cacheControl] = "no-store"
        return fields
    }

    private func fields(_ type: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: type]
        // Chunks are to go on as they come (draft-ietf-ohai-chunked-ohttp, section 3), also through proxies that would gather them.
        if self == .chunked, let incremental = HTTPField.Name("Incremental") { fields[incremental] = "?1" }
        return fields
    }

    /// The most bytes that one may have.
    func bytes(in limits: RelayConfiguration.Limits) -> Int {
        switch self {
        case .whole: limits.messageBytes
        case .chunked: limits.chunkedMessageBytes
        }
    }
}
