extension ApproovBytes {
    /// The body as lines of text of at most 1 MiB; see ``lines(upTo:)``.
    public var lines: Lines { lines(upTo: 1 << 20) }

    /// The body as lines of text, as they arrive.
    ///
    /// A line ends with LF, CR or CRLF, and does not contain its end. Empty lines are lines. Bytes that are not UTF-8 become U+FFFD. What
    /// follows the last line's end is a line, unless it is empty.
    ///
    /// - Parameter limit: The maximum number of bytes of a line; a longer one throws ``ApproovError`` with code `responseTooLarge`.
    /// - Returns: The lines.
    public func lines(upTo limit: Int) -> Lines { Lines(chunks: chunks, limit: limit) }

    /// The body of a response as lines of text.
    public struct Lines: AsyncSequence, Sendable {
        /// A line without its end.
        public typealias Element = String

        let chunks: Chunks
        let limit: Int

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator { Iterator(lines: ByteLines(chunks, limit: limit)) }

        /// Returns the lines in order.
        public struct Iterator: AsyncIteratorProtocol {
            var lines: ByteLines

            /// Returns the next line, or nil at the end.
            ///
            /// - Throws: ``ApproovError`` with code `responseTooLarge` when a line is too long, and with other codes when the transfer
            ///   fails; `CancellationError` when the task is cancelled or the request wiped.
            public mutating func next() async throws -> String? { try await next(isolation: nil) }

            /// Returns the next line, or nil at the end, without leaving the caller's actor.
            ///
            /// - Parameter actor: The caller's actor.
            /// - Returns: The line, or nil at the end.
            /// - Throws: ``ApproovError`` with code `responseTooLarge` when a line is too long, and with other codes when the transfer
            ///   fails; `CancellationError` when the task is cancelled or the request wiped.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
                try await lines.next(isolation: actor).map { String(decoding: $0, as: UTF8.self) }
            }
        }
    }
}
