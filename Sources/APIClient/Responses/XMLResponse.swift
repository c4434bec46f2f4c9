/// Reads a response in XML.
public struct XMLResponse: ResponseDeserializer {
    /// The statuses to accept; 200 to 299 by default.
    public var statuses: Range<Int>
    /// The media types to accept; `application/xml`, `text/xml` and those that end with `+xml` by default.
    public var mediaTypes: [String]

    /// Makes a deserializer.
    ///
    /// - Parameters:
    ///   - statuses: The statuses to accept.
    ///   - mediaTypes: The media types to accept, as ``APIResponse/check(mediaTypes:)`` takes them.
    public init(statuses: Range<Int> = 200..<300, mediaTypes: [String] = ["application/xml", "text/xml", "application/*+xml"]) {
        self.statuses = statuses
        self.mediaTypes = mediaTypes
    }

    /// `application/xml, text/xml`, without those that ``mediaTypes`` lacks; nil if it has neither.
    public var accept: String? {
        let types = ["application/xml", "text/xml"].filter { mediaTypes.isEmpty || mediaTypes.contains($0) }
        return types.isEmpty ? nil : types.joined(separator: ", ")
    }

    private static let encodings: Set = ["utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be"]

    /// Reads the document, and returns its root element.
    ///
    /// - Parameter response: The response.
    /// - Returns: The root element.
    /// - Throws: ``APIError`` with code `unexpectedStatus`, `unexpectedMediaType`, `malformedXML` or `tooLarge`; the error carries the
    ///   response.
    public func value(of response: APIResponse) throws -> XMLElement {
        try response.check(statuses: statuses)
        try response.check(mediaTypes: mediaTypes)
        // The parser finds the encodings that it knows by itself. It would read other text as UTF-8.
        guard Self.encodings.contains(response.charset ?? "utf-8") else {
            throw response.refusal(
                .malformedXML, "\(response.host) names another encoding than UTF-8 and UTF-16 in Content-Type: have it send UTF-8")
        }
        do {
            return try XMLElement(parsing: response.data)
        } catch let error as APIError {
            throw APIError(error.details, response: response)
        }
    }
}
