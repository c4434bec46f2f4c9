public import Foundation
import HTTPClient

/// The body of a response, byte by byte, as it arrives.
///
/// The transfer is never faster than the reader. The body can be iterated once. Dropping it before its end cancels the transfer.
public struct ApproovBytes: AsyncSequence, Sendable {
    /// A byte.
    public typealias Element = UInt8

    /// The same body in the parts in which it arrives; faster than single bytes when the caller copies or stores the body.
    public let chunks: Chunks

    /// Creates the sequence.
    ///
    /// - Parameters:
    ///   - body: The body of the response.
    ///   - isRepeatable: Whether the request can be sent again without the server executing it twice.
    init(_ body: ResponseBody, isRepeatable: Bool = false) {
        chunks = Chunks(body: body, isRepeatable: isRepeatable)
    }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter limit: The maximum number of bytes to accept.
    /// - Returns: The bytes.
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when there are more than `limit`, and with other codes when the transfer
    ///   fails; `CancellationError` when the task is cancelled.
    public func data(upTo limit: Int) async throws -> Data {
        do {
            return Data(try await chunks.body.collect(upTo: limit))
        } catch {
            throw error.asApproovError(isRepeatable: chunks.isRepeatable)
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator()) }

    /// Returns the bytes in order.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var chunks: Chunks.Iterator
        @usableFromInline var chunk: [UInt8] = []
        @usableFromInline var position = 0

        init(chunks: Chunks.Iterator) {
            self.chunks = chunks
        }

        /// Returns the next byte, or nil at the end.
        ///
        /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled.
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
        /// A part of the body.
        public typealias Element = [UInt8]

        let body: ResponseBody
        let isRepeatable: Bool

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator(), isRepeatable: isRepeatable) }

        /// Returns the parts in order.
        public struct Iterator: AsyncIteratorProtocol {
            var parts: ResponseBody.Iterator
            let isRepeatable: Bool

            /// Returns the next part, or nil at the end.
            ///
            /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled.
            public mutating func next() async throws -> [UInt8]? {
                do {
                    return try await parts.next()
                } catch {
                    throw error.asApproovError(isRepeatable: isRepeatable)
                }
            }
        }
    }
}
