import Synchronization

/// A body that is already in memory.
final class BufferedBodySource: ResponseBodySource {
    private let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }

    func next() async throws -> [UInt8]? {
        bytes.withLock { bytes in
            guard !bytes.isEmpty else { return nil }
            defer { bytes = [] }
            return bytes
        }
    }
}

/// A body that an asynchronous sequence produces.
actor SequenceBodySource: ResponseBodySource {
    private let pull: @Sendable () async throws -> [UInt8]?

    init<S: AsyncSequence & Sendable>(_ sequence: S) where S.Element == [UInt8] {
        let iterator = IteratorBox(sequence.makeAsyncIterator())
        pull = { try await iterator.next() }
    }

    func next() async throws -> [UInt8]? { try await pull() }
}

/// Lets an escaping closure advance one iterator.
///
/// `@unchecked Sendable`: one consumer at a time advances the iterator, as `AsyncIteratorProtocol` demands of every caller.
final class IteratorBox<Iterator: AsyncIteratorProtocol>: @unchecked Sendable where Iterator.Element == [UInt8] {
    private var iterator: Iterator

    init(_ iterator: Iterator) { self.iterator = iterator }

    func next() async throws -> [UInt8]? {
        // Skips empty parts: the contract promises at least one byte.
        while let part = try await iterator.next() {
            if !part.isEmpty { return part }
        }
        return nil
    }
}
