import Synchronization

/// The bytes of a connection that its script has not read yet; beyond 1 MiB the client must wait.
final class RawInbox: Sendable {
    private static let limit = 1 << 20

    private let stream: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let unread = Mutex(0)

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func put(_ bytes: [UInt8]) async throws {
        unread.withLock { $0 += bytes.count }
        continuation.yield(bytes)
        while unread.withLock({ $0 > Self.limit }) { try await Task.sleep(for: .milliseconds(5)) }
    }

    func take() async -> [UInt8]? {
        var iterator = stream.makeAsyncIterator()
        let bytes = await iterator.next()
        unread.withLock { $0 -= bytes?.count ?? 0 }
        return bytes
    }

    func finish() { continuation.finish() }
}
