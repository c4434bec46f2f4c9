/// Content for a request, and the headers that describe it.
public protocol BodySerializer: Sendable {
    /// Makes the content.
    ///
    /// - Returns: The content with its headers.
    /// - Throws: ``APIError`` with code `invalidBody` when the content cannot be written.
    func serialize() throws -> SerializedBody
}
