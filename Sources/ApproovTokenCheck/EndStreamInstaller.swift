internal import HTTPServing
public import NIOCore

/// Lets a Hummingbird server with HTTP/2 serve clients on libcurl, ours among them, without losing connections under load.
///
/// It ends every HTTP/2 response with its last DATA frame instead of an empty one behind it, which libcurl would answer with a reset;
/// on HTTP/1.1 it does nothing. Hummingbird takes further handlers for its own end of a pipeline only, so this one is how to get to the
/// network's:
///
///     let stream = HTTP1Channel.Configuration(additionalChannelHandlers: [EndStreamInstaller()])
///     let server = try HTTPServerBuilder.http2Upgrade(tlsConfiguration: tls, configuration: .init(streamConfiguration: stream))
public final class EndStreamInstaller: ChannelInboundHandler, RemovableChannelHandler {
    /// Whatever comes in is passed on.
    public typealias InboundIn = NIOAny

    /// Makes an installer, for one channel.
    public init() {}

    /// Installs the handler when the channel is an HTTP/2 stream.
    /// - Parameter context: this handler's place in the channel
    public func handlerAdded(context: ChannelHandlerContext) {
        EndStreamHandler.install(from: context)
    }
}

// It belongs to one channel's event loop.
@available(*, unavailable)
extension EndStreamInstaller: Sendable {}
