package import NIOCore
internal import NIOHPACK
internal import NIOHTTP1
package import NIOHTTP2

/// Ends an HTTP/2 response with its last DATA frame instead of an empty one after it, removes the content of answers to HEAD, and
/// distinguishes a complete request from one that was cut off.
///
/// libcurl treats a response as complete when Content-Length bytes have come, and then resets a stream that has not ended. NIOHTTP2
/// closes a connection with 200 resets in 30 seconds (CVE-2023-44487), so a busy client would lose its connection, and the requests on it,
/// again and again. With END_STREAM on the last DATA frame (RFC 9113, section 8.1) libcurl has nothing to reset. An answer to HEAD has no
/// DATA frame (RFC 9110, section 9.3.2), so END_STREAM is on its HEADERS frame.
///
/// When the connection ends before a request has, NIOHTTP2 only tells the stream that it is inactive, and Hummingbird takes that for the end
/// of the content. An error before it makes the read of the content fail, so that no handler takes a part for the whole.
package final class EndStreamHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTP2Frame.FramePayload
    package typealias OutboundIn = HTTP2Frame.FramePayload
    package typealias OutboundOut = HTTP2Frame.FramePayload

    /// Called when the end of the response is written.
    private let onResponseEnd: () -> Void

    /// Makes a handler of one stream.
    ///
    /// - Parameter onResponseEnd: Called when the end of the response is written.
    package init(onResponseEnd: @escaping () -> Void = {}) { self.onResponseEnd = onResponseEnd }

    /// A DATA frame, or the HEADERS frame of an answer to HEAD, that waits to see what follows it.
    private var held: (payload: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)?
    /// Whether the end of the request, or an error in its place, has come.
    private var hasRequestEnded = false
    /// Whether the request is a HEAD request.
    private var isHead = false

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            isHead = isHead || frame.headers.first(name: ":method") == "HEAD"
            hasRequestEnded = hasRequestEnded || frame.endStream
        case .data(let frame): hasRequestEnded = hasRequestEnded || frame.endStream
        default: break
        }
        context.fireChannelRead(data)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hasRequestEnded = true
        context.fireErrorCaught(error)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        if !hasRequestEnded {
            hasRequestEnded = true
            context.fireErrorCaught(ChannelError.inputClosed)
        }
        context.fireChannelInactive()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .headers(let frame):
            if frame.endStream { onResponseEnd() }
            release(context)
            guard isHead, !frame.endStream else { return context.write(data, promise: promise) }
            held = (.headers(frame), promise)
        case .data(var frame):
            if isHead { frame.data = .byteBuffer(ByteBuffer()) }
            if frame.endStream {
                onResponseEnd()
                end(with: frame, promise, context)
            } else if isHead {
                promise?.succeed()
            } else {
                release(context)
                held = (.data(frame), promise)
            }
        default:
            release(context)
            context.write(data, promise: promise)
        }
    }

    /// Writes the end of the response: on the frame that is held, if the last one is empty.
    private func end(with last: HTTP2Frame.FramePayload.Data, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard case .byteBuffer(let buffer) = last.data, buffer.readableBytes == 0, let (payload, earlier) = held else {
            release(context)
            context.write(wrapOutboundOut(.data(last)), promise: promise)
            return
        }
        held = nil
        if let earlier {
            // One frame completes both writes.
            earlier.futureResult.cascade(to: promise)
        }
        context.write(wrapOutboundOut(payload.endingStream), promise: earlier ?? promise)
    }

    package func flush(context: ChannelHandlerContext) {
        release(context)
        context.flush()
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        release(context)
        context.close(mode: mode, promise: promise)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        held?.promise?.fail(ChannelError.ioOnClosedChannel)
        held = nil
    }

    private func release(_ context: ChannelHandlerContext) {
        guard let (payload, promise) = held else { return }
        held = nil
        context.write(wrapOutboundOut(payload), promise: promise)
    }
}

extension HTTP2Frame.FramePayload {
    /// The frame with END_STREAM, if it can have it.
    fileprivate var endingStream: Self {
        switch self {
        case .headers(var frame):
            frame.endStream = true
            return .headers(frame)
        case .data(var frame):
            frame.endStream = true
            return .data(frame)
        default: return self
        }
    }
}

extension EndStreamHandler {
    /// Adds the handler at the network's end of an HTTP/2 stream's pipeline; on HTTP/1.1 it does nothing.
    ///
    /// - Parameters:
    ///   - context: The context of a handler at the other end, where Hummingbird lets handlers be added.
    ///   - onResponseEnd: Called when the end of the response is written.
    package static func install(from context: ChannelHandlerContext, onResponseEnd: @escaping () -> Void = {}) {
        let operations = context.pipeline.syncOperations
        guard (try? operations.handler(type: HTTPResponseEncoder.self)) == nil else { return }
        do {
            try operations.addHandler(EndStreamHandler(onResponseEnd: onResponseEnd), position: .first)
        } catch {
            context.fireErrorCaught(error)
        }
    }
}

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension EndStreamHandler: Sendable {}
