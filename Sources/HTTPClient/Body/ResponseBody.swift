public import HTTPTypes

/// The content of a response as it arrives, in parts of at most 16 KiB, with back pressure: what nobody reads is not fetched.
///
/// It can be iterated once. Dropping it before its end ends the transfer.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A part of the content.
    public typealias Element = [UInt8]

    let source: any ResponseBodySource

    init(source: any ResponseBodySource) { self.source = source }

    /// A body that is already there; for test doubles and in-process transports.
    ///
    /// - Parameter bytes: the whole content.
    public init(bytes: [UInt8]) { source = BufferedBodySource(bytes) }

    /// Wraps any sequence of byte arrays; for test doubles and in-process transports.
    ///
    /// - Parameter sequence: the parts, in order.
    public init<S: AsyncSequence & Sendable>(_ sequence: S) where S.Element == [UInt8] { source = SequenceBodySource(sequence) }

    /// The trailer section (RFC 9110 section 6.5), once the body has been read to its end; empty where there is none.
    ///
    /// What comes so late frames, routes and authenticates nothing: do not merge it into the header fields.
    public var trailerFields: HTTPFields { source.trailers }

    /// Reads what is left into memory.
    ///
    /// - Parameter limit: the most bytes to accept.
    /// - Returns: the content.
    /// - Throws: `TransportError` `bodyTooLarge` when there is more than `limit`, or what the transfer failed with;
    ///   `CancellationError` when the task is cancelled.
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

        /// The next part, nil at the end.
        ///
        /// - Returns: at least one byte, or nil.
        /// - Throws: what the transfer failed with; `CancellationError` when the task is cancelled.
        public mutating func next() async throws -> [UInt8]? { try await source.next() }
    }
}

/// Where the parts of a body come from.
protocol ResponseBodySource: AnyObject, Sendable {
    /// The fields that came after the last part.
    var trailers: HTTPFields { get }
    func next() async throws -> [UInt8]?
}

extension ResponseBodySource {
    var trailers: HTTPFields { [:] }
}
