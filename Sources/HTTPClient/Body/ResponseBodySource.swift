package import HTTPTypes

/// The source of a body's parts.
package protocol ResponseBodySource: AnyObject, Sendable {
    /// The trailer fields, which came after the last part.
    var trailers: HTTPFields { get }
    func next() async throws -> [UInt8]?
}

extension ResponseBodySource {
    package var trailers: HTTPFields { [:] }
}
