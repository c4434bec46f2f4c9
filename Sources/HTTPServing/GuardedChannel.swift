internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// Puts a listener's connections into a `ConnectionTable` from their first byte on, and has them flushed before they end.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let table: ConnectionTable

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        table.add(channel)
        let ready = base.setup(channel: channel, logger: logger)
        do {
            try FlushBeforeClose.install(in: channel)
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return ready
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

extension ConnectionTable {
    /// Keeps the books around a responder.
    /// - Parameter respond: what reads the request and writes the answer
    /// - Returns: the same; when its time is over, the sweep closes its stream or connection, which ends its reads and writes
    func accounting(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            self.requestBegins(on: channel)
            defer { self.requestEnds(on: channel) }
            try await respond(request, writer, channel)
        }
    }
}
