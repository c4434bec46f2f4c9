package import Hummingbird
package import NIOCore

/// What a request carries for handlers that need to know its connection.
package struct ConnectionContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The connection's own address, or the client's where a trusted proxy named it (PROXY protocol).
    ///
    /// Header fields of proxies are not read: any client can send them.
    package let remoteAddress: SocketAddress?
    /// Where the connection is worked on.
    package let eventLoop: any EventLoop

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
        eventLoop = source.channel.eventLoop
    }
}
