package import NIOCore

/// Keeps a response's writer from running ahead of its connection.
///
/// NIO's writers wait for a full socket, but not for the event loop that moves their bytes to the socket. While the client reads as fast as
/// it can, the socket is never full, and bytes written faster than the loop works pile up in front of it. So after every 128 KiB a writer
/// waits until the loop has caught up.
package struct WriteBackpressure: Sendable {
    private static let stride = 128 * 1024

    private let eventLoop: any EventLoop
    private var written = 0

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Counts bytes that were written, and waits for the event loop when necessary.
    ///
    /// - Parameter count: The number of bytes written.
    /// - Throws: An error of the event loop, when it has ended.
    package mutating func wrote(_ count: Int) async throws {
        written += count
        guard written >= Self.stride else { return }
        written = 0
        // The loop works in order, so it comes to this after everything that was written before.
        try await eventLoop.submit {}.get()
    }
}
