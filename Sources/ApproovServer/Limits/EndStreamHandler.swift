public import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// Ends an HTTP/2 response with its last DATA frame instead of an empty one behind it.
///
/// libcurl takes a response as complete when Content-Length bytes have come, and resets a stream that has not ended by then.
/// NIOHTTP2 closes a connection with 200 resets in 30 seconds (CVE-2023-44487), so a busy client would lose its connection, and the
/// requests on it, again and again. With END_STREAM on the last DATA frame (RFC 9113 §8.1) there is nothing to reset.
final class EndStreamHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// DATA that waits to see what follows it.
    private var held: (data: HTTP2Frame.FramePayload.Data, promise: EventLoopPromise<Void>?)?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let payload = unwrapOutboundIn(data)
        guard case .data(let frame) = payload else {
            release(context)
            context.write(data, promise: promise)
            return
        }
        if frame.endStream, case .byteBuffer(let buffer) = frame.data, buffer.readableBytes == 0, let (data, earlier) = held {
            held = nil
            var last = data
            last.endStream = true
            if let earlier {
                // One frame answers both writes.
                earlier.futureResult.cascade(to: promise)
            }
            context.write(wrapOutboundOut(.data(last)), promise: earlier ?? promise)
            return
        }
        release(context)
        if frame.endStream {
            context.write(data, promise: promise)
        } else {
            held = (frame, promise)
        }
    }

    func flush(context: ChannelHandlerContext) {
        release(context)
        context.flush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        release(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        held?.promise?.fail(ChannelError.ioOnClosedChannel)
        held = nil
    }

    private func release(_ context: ChannelHandlerContext) {
        guard let (data, promise) = held else { return }
        held = nil
        context.write(wrapOutboundOut(.data(data)), promise: promise)
    }
}

/// Lets a Hummingbird server with HTTP/2 serve clients on libcurl, ours among them, without losing connections under load.
///
/// It puts an `EndStreamHandler` at the network's end of every HTTP/2 stream's pipeline; on HTTP/1.1 it does nothing. Hummingbird takes
/// further handlers for its own end only, so this one is how to get there:
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
        let pipeline = context.pipeline.syncOperations
        guard (try? pipeline.handler(type: HTTPResponseEncoder.self)) == nil else { return }
        do {
            try pipeline.addHandler(EndStreamHandler(), position: .first)
        } catch {
            context.fireErrorCaught(error)
        }
    }
}

// Both belong to one channel's event loop.
@available(*, unavailable)
extension EndStreamHandler: Sendable {}

@available(*, unavailable)
extension EndStreamInstaller: Sendable {}
