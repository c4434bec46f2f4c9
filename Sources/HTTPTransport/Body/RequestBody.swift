/// The content of a request.
public enum RequestBody: Sendable {
    /// No content.
    case none
    /// Content that is in memory.
    case bytes([UInt8])
    /// A regular file, read as it is sent. Its length is taken when the request starts and must not change.
    case file(path: String)
    /// Content that is made while it is sent; `length` in bytes when known. Can be sent once only.
    case stream(length: Int?, RequestBodyStream)
}

/// The parts of a streamed request body, pulled with back pressure: at most 256 KiB wait for the network.
public struct RequestBodyStream: Sendable {
    let write: @Sendable (_ sink: @Sendable ([UInt8]) async throws -> Void) async throws -> Void
    /// Begins to read the parts one by one; nil: they can be written only.
    let read: (@Sendable () -> @Sendable () async throws -> [UInt8]?)?

    /// Wraps a function that hands the parts to a sink, in order.
    package init(write: @escaping @Sendable (_ sink: @Sendable ([UInt8]) async throws -> Void) async throws -> Void) {
        self.write = write
        read = nil
    }

    /// Wraps a sequence of byte arrays.
    ///
    /// - Parameter sequence: the parts, in order. An error it throws fails the request with `requestBodyFailed`.
    public init<S: AsyncSequence & Sendable>(_ sequence: S) where S.Element == [UInt8] {
        write = { sink in
            for try await part in sequence { try await sink(part) }
        }
        read = {
            let iterator = IteratorBox(sequence.makeAsyncIterator())
            return { try await iterator.next() }
        }
    }
}
