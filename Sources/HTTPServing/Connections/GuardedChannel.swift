internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL

/// Puts a listener's connections into a `ConnectionTable` from their first byte on, and ends them in order.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let listener: ConnectionGuardian
    let isSecure: Bool

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection<Base>> {
        listener.welcome(channel)
        let isProxied = listener.isTrustedProxy(channel.remoteAddress)
        let table = listener.table
        table.add(channel, isProxied: isProxied, isSecure: isSecure)
        let ready = base.setup(channel: channel, logger: logger).map { [base] in AcceptedConnection($0, of: base, logger: logger) }
        do {
            let operations = channel.pipeline.syncOperations
            let position: ChannelPipeline.SynchronousOperations.Position =
                isSecure ? .after(try operations.handler(type: NIOSSLServerHandler.self)) : .first
            try operations.addHandler(
                ConnectionHandler(table: table, isSecure: isSecure, gathersWrites: listener.handlesOnEventLoop), position: position)
            if isProxied {
                try operations.addHandler(ProxyProtocolHandler { table.identify(channel, as: $0) }, position: .first)
            }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return ready
    }

    func handle(value: AcceptedConnection<Base>, logger: Logger) async {
        let executor = listener.handlesOnEventLoop ? EventLoopExecutor(value.channel.eventLoop) : nil
        await withTaskExecutorPreference(executor) { await value.handle(logger: logger) }
    }
}
