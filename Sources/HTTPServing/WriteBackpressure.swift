package import NIOCore

/// Keeps a response's writer from running ahead of its connection.
///
/// NIO's writers wait for a socket that is full. What they do not wait for is the event loop that moves their bytes to the socket: while
/// the client reads as fast as it can, the socket is never full, and whatever is written faster than the loop works piles up before it.
/// So every so often a writer waits until the loop has come to where the writer is.
package struct WriteBackpressure: Sendable {
    private static let stride = 128 * 1024

    private let eventLoop: any EventLoop
    private var written = 0

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// To be called after bytes were written.
    ///
    /// - Parameter count: How many.
    /// - Throws: When the event loop has ended.
    package mutating func wrote(_ count: Int) async throws {
        written += count
        guard written >= Self.stride else { return }
        written = 0
        // Behind all that was written before: a loop works in the order of what it is given.
        try await eventLoop.submit {}.get()
    }
}
