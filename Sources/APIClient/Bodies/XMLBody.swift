import HTTPClient

/// Content in XML.
public struct XMLBody: BodySerializer {
    /// The root element.
    public var element: XMLElement
    /// The value of the header Content-Type; `application/xml; charset=utf-8` by default.
    public var contentType: String

    /// Makes content.
    ///
    /// - Parameters:
    ///   - element: The root element.
    ///   - contentType: The value of the header Content-Type.
    public init(_ element: XMLElement, contentType: String = "application/xml; charset=utf-8") {
        self.element = element
        self.contentType = contentType
    }

    /// Makes the content.
    ///
    /// - Returns: The content with its type.
    /// - Throws: ``APIError`` with code `invalidBody` when the document cannot be written.
    public func serialize() throws -> SerializedBody { SerializedBody(contentType: contentType, body: .bytes(try element.document())) }
}
