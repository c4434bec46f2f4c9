public import Foundation
import HTTPClient

/// The body of a response, byte by byte, as it arrives.
///
/// The session reads from the network only as fast as you read (back pressure). The body can be iterated once. Dropping it before its end
/// cancels the transfer. When the session wipes the request (``ApproovSession/wipe(_:)``), the next read throws a `CancellationError`, even
/// if more bytes have already arrived.
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
    ///   - flight: The request that may be wiped; nil if it cannot be.
    init(_ body: ResponseBody, isRepeatable: Bool = false, flight: RequestFlight? = nil) {
        chunks = Chunks(body: body, isRepeatable: isRepeatable, flight: flight)
    }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter limit: The maximum number of bytes to accept.
    /// - Returns: The bytes.
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when there are more than `limit`, and with other codes when the transfer
    ///   fails; `CancellationError` when the task is cancelled or the request wiped.
    nonisolated(nonsending) public func data(upTo limit: Int) async throws -> Data {
        do {
            guard let flight = chunks.flight else { return Data(try await chunks.body.collect(upTo: limit)) }
            return Data(try await flight.run { [body = chunks.body] in try await body.collect(upTo: limit) })
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
        @usableFromInline let flight: RequestFlight?

        init(chunks: Chunks.Iterator) {
            self.chunks = chunks
            flight = chunks.flight
        }

        /// Returns the next byte, or nil at the end.
        ///
        /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled or the request wiped.
        @inlinable
        public mutating func next() async throws -> UInt8? { try await next(isolation: nil) }

        /// Returns the next byte, or nil at the end, without leaving the caller's actor.
        ///
        /// - Parameter actor: The caller's actor.
        /// - Returns: The byte, or nil at the end.
        /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled or the request wiped.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
            if position == chunk.count {
                guard let next = try await chunks.next(isolation: actor) else { return nil }
                chunk = next
                position = 0
            } else if let flight {
                try flight.check()
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
        let flight: RequestFlight?

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator {
            Iterator(parts: body.makeAsyncIterator(), isRepeatable: isRepeatable, flight: flight)
        }

        /// Returns the parts in order.
        public struct Iterator: AsyncIteratorProtocol {
            var parts: ResponseBody.Iterator
            let isRepeatable: Bool
            let flight: RequestFlight?

            /// Returns the next part, or nil at the end.
            ///
            /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled or the request wiped.
            public mutating func next() async throws -> [UInt8]? { try await next(isolation: nil) }

            /// Returns the next part, or nil at the end, without leaving the caller's actor.
            ///
            /// - Parameter actor: The caller's actor.
            /// - Returns: The part, or nil at the end.
            /// - Throws: ``ApproovError`` when the transfer fails; `CancellationError` when the task is cancelled or the request wiped.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
                do {
                    guard let flight else { return try await parts.next() }
                    return try await flight.run { [parts] in
                        var parts = parts
                        return try await parts.next()
                    }
                } catch {
                    throw error.asApproovError(isRepeatable: isRepeatable)
                }
            }
        }
    }
}
