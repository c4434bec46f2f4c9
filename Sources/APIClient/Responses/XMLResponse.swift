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

    /// Reads the document, and returns its root element.
    ///
    /// - Parameter response: The response.
    /// - Returns: The root element.
    /// - Throws: ``APIError`` with code `unexpectedStatus`, `unexpectedMediaType`, `malformedXML` or `tooLarge`; the error carries the
    ///   response.
    public func value(of response: APIResponse) throws -> XMLElement {
        try response.check(statuses: statuses)
        try response.check(mediaTypes: mediaTypes)
        do {
            return try XMLElement(parsing: response.data)
        } catch let error as APIError {
            throw APIError(error.details, response: response)
        }
    }
}
