public import HTTPTypes

/// The content of a response as it arrives, with back pressure: content that is not read is not fetched.
///
/// Over HTTP/2, while other requests use the connection, libcurl 7.88 holds up to 32 MiB of content that is not read, the stream's window.
///
/// A ``CurlTransport`` delivers parts of at most 16 KiB. The body can be iterated once. Dropping it before its end ends the transfer.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A part of the content.
    public typealias Element = [UInt8]

    let source: any ResponseBodySource

    /// Wraps a source, which may have trailer fields.
    package init(source: any ResponseBodySource) { self.source = source }

    /// Wraps content that is already in memory; for test doubles and in-process transports.
    ///
    /// - Parameter bytes: The whole content.
    public init(bytes: [UInt8]) { source = BufferedBodySource(bytes) }

    /// Wraps any sequence of byte arrays; for test doubles and in-process transports.
    ///
    /// - Parameter sequence: The parts, in order.
    public init<S: AsyncSequence & Sendable>(_ sequence: S) where S.Element == [UInt8] { source = SequenceBodySource(sequence) }

    /// The trailer section (RFC 9110, section 6.5), once the body has been read to its end; empty if there is none.
    ///
    /// Trailer fields come too late for framing, routing or authentication: do not merge them into the header fields.
    public var trailerFields: HTTPFields { source.trailers }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter limit: The most bytes to accept.
    /// - Returns: The rest of the content.
    /// - Throws: ``TransportError`` with code `bodyTooLarge` when there is more than `limit`; the transfer's failure; `CancellationError`
    ///   when the task is cancelled.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        var whole: [UInt8] = []
        while let part = try await source.next() {
            guard part.count <= limit - whole.count else {
                throw TransportError(.bodyTooLarge, "the response's body is larger than \(limit) bytes; raise the limit or stream it")
            }
            if whole.isEmpty { whole = part } else { whole += part }
        }
        return whole
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Hands out the parts in order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let source: any ResponseBodySource

        /// The next part; nil at the end.
        ///
        /// - Returns: At least one byte, or nil.
        /// - Throws: The transfer's failure; `CancellationError` when the task is cancelled.
        public mutating func next() async throws -> [UInt8]? { try await source.next() }
    }
}
