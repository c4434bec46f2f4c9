internal import HTTPServing
public import NIOCore

/// Lets a Hummingbird HTTP/2 server serve libcurl clients, such as ours, without losing connections under load.
///
/// Every HTTP/2 response then ends with its last DATA frame, not with an empty frame after it, which libcurl would answer with a reset. A
/// response to HEAD ends with its HEADERS frame, without content. On HTTP/1.1 this handler does nothing. Hummingbird adds custom handlers
/// only to its own end of a pipeline; this handler reaches the network's end:
///
///     let stream = HTTP1Channel.Configuration(additionalChannelHandlers: [EndStreamInstaller()])
///     let server = try HTTPServerBuilder.http2Upgrade(tlsConfiguration: tls, configuration: .init(streamConfiguration: stream))
public final class EndStreamInstaller: ChannelInboundHandler, RemovableChannelHandler {
    /// Any inbound data; the handler passes it on unchanged.
    public typealias InboundIn = NIOAny

    /// Creates an installer for one channel.
    public init() {}

    /// Installs the HTTP/2 handler if the channel is an HTTP/2 stream.
    /// - Parameter context: This handler's context in the channel pipeline.
    public func handlerAdded(context: ChannelHandlerContext) {
        EndStreamHandler.install(from: context)
    }
}

// Not Sendable: an instance belongs to one channel's event loop.
@available(*, unavailable)
extension EndStreamInstaller: Sendable {}
