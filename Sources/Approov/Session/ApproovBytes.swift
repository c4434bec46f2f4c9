import HTTPClient

/// The body of a response, byte by byte, as it arrives and no faster than it is read.
///
/// It can be iterated once. Dropping it before its end ends the transfer.
public struct ApproovBytes: AsyncSequence, Sendable {
    /// A byte.
    public typealias Element = UInt8

    /// The same body in the parts that it arrives in, which is faster for whoever writes it elsewhere.
    public let chunks: Chunks

    /// - Parameters:
    ///   - body: The body.
    ///   - isRepeatable: Whether the request that it answers can be sent again without the server executing it twice.
    init(_ body: ResponseBody, isRepeatable: Bool = false) {
        chunks = Chunks(body: body, isRepeatable: isRepeatable)
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator()) }

    /// Hands out the bytes in order.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var chunks: Chunks.Iterator
        @usableFromInline var chunk: [UInt8] = []
        @usableFromInline var position = 0

        init(chunks: Chunks.Iterator) {
            self.chunks = chunks
        }

        /// The next byte, nil at the end.
        ///
        /// - Throws: ``ApproovError``; `CancellationError` when the task is cancelled.
        @inlinable
        public mutating func next() async throws -> UInt8? {
            if position == chunk.count {
                guard let next = try await chunks.next() else { return nil }
                chunk = next
                position = 0
            }
            defer { position += 1 }
            return chunk[position]
        }
    }

    /// The body of a response in parts of at least one byte.
    public struct Chunks: AsyncSequence, Sendable {
        /// A part.
        public typealias Element = [UInt8]

        let body: ResponseBody
        let isRepeatable: Bool

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator(), isRepeatable: isRepeatable) }

        /// Hands out the parts in order.
        public struct Iterator: AsyncIteratorProtocol {
            var parts: ResponseBody.Iterator
            let isRepeatable: Bool

            /// The next part, nil at the end.
            ///
            /// - Throws: ``ApproovError``; `CancellationError` when the task is cancelled.
            public mutating func next() async throws -> [UInt8]? {
                do {
                    return try await parts.next()
                } catch {
                    throw ApproovError.wrapping(error, isRepeatable: isRepeatable)
                }
            }
        }
    }
}
