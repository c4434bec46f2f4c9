import Synchronization

/// The parts of a streamed request body, pulled with back pressure: at most 256 KiB wait for the network.
///
/// The parts can be read once: a second reader gets an error, never an empty or truncated body.
public struct RequestBodyStream: Sendable {
    let write: @Sendable (_ sink: @Sendable ([UInt8]) async throws -> Void) async throws -> Void
    /// Begins to read the parts one by one; nil when they can only be written to a sink.
    let read: (@Sendable () throws -> @Sendable () async throws -> [UInt8]?)?
    private let start = Start()

    /// Wraps a function that hands the parts to a sink, in order.
    package init(write: @escaping @Sendable (_ sink: @Sendable ([UInt8]) async throws -> Void) async throws -> Void) {
        self.write = { [start] sink in
            try start.begin()
            try await write(sink)
        }
        read = nil
    }

    /// Wraps a sequence of byte arrays.
    ///
    /// - Parameter sequence: The parts, in order. An error that it throws fails the request with code `requestBodyFailed`.
    public init<S: AsyncSequence & Sendable>(_ sequence: S) where S.Element == [UInt8] {
        write = { [start] sink in
            try start.begin()
            for try await part in sequence { try await sink(part) }
        }
        read = { [start] in
            try start.begin()
            let iterator = IteratorBox(sequence.makeAsyncIterator())
            return { try await iterator.next() }
        }
    }

    /// Whether reading has begun.
    var hasBegun: Bool { start.hasBegun }

    /// Lets only one reader begin.
    private final class Start: Sendable {
        private let isBegun = Atomic(false)

        var hasBegun: Bool { isBegun.load(ordering: .relaxed) }

        func begin() throws(TransportError) {
            guard !isBegun.exchange(true, ordering: .relaxed) else {
                throw TransportError(
                    .requestBodyFailed, "the request's body is a stream that was already read; make a new request with a new stream")
            }
        }
    }
}
