internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// Puts a listener's connections into a `ConnectionTable` from their first byte on, and a deadline on every request.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let table: ConnectionTable

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        table.add(channel)
        return base.setup(channel: channel, logger: logger)
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// Answers requests within a deadline and keeps the table's books.
struct RequestGate: Sendable {
    let table: ConnectionTable
    let timeout: TimeAmount

    /// Wraps a responder.
    /// - Parameter respond: what reads the request and writes the answer
    /// - Returns: the same under the deadline: when it passes, the stream or the connection is closed
    func wrap(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            table.requestBegins(on: channel)
            // A close from outside is the one thing that ends a read or a write that waits for the peer.
            let deadline = channel.eventLoop.scheduleTask(in: timeout) {
                channel.close(promise: nil)
            }
            defer {
                deadline.cancel()
                table.requestEnds(on: channel)
            }
            try await respond(request, writer, channel)
        }
    }
}
