package import Hummingbird
package import NIOCore

/// The request context, with what handlers need to know about the request's connection.
package struct ConnectionContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The connection's remote address, or the client's if a trusted proxy named it (PROXY protocol).
    ///
    /// Forwarding header fields are not read: any client can send them.
    package let remoteAddress: SocketAddress?
    /// The connection's event loop.
    package let eventLoop: any EventLoop

    /// The text of the client's IP address; nil for a connection without one.
    ///
    /// A listener for IPv6 also takes IPv4 connections, whose addresses it gets as IPv4-mapped ones (`::ffff:192.0.2.1`). They count as IPv4.
    package var clientAddress: String? { remoteAddress?.unmapped.ipAddress }

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
        eventLoop = source.channel.eventLoop
    }
}
