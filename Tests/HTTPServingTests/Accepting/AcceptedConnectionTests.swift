import ApproovTesting
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TestTags
import Testing

@testable import HTTPServing

/// Connections that are accepted while the server stops.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct AcceptedConnectionTests {
    /// Calls a closure when its channel is closed, before its handlers are removed.
    final class ClosureObserver: ChannelInboundHandler, Sendable {
        typealias InboundIn = Any
        let onClosure: @Sendable () -> Void

        init(onClosure: @escaping @Sendable () -> Void) { self.onClosure = onClosure }

        func channelInactive(context: ChannelHandlerContext) {
            context.fireChannelInactive()
            onClosure()
        }
    }

    /// A channel whose connections become ready at the moment when the listener closes.
    struct LateChannel<Base: ServerChildChannel>: ServerChildChannel {
        let base: Base
        /// Opened when the first connection has come.
        let hasConnection: Gate

        func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
            let isReady = channel.eventLoop.makePromise(of: Void.self)
            channel.parent?.pipeline.addHandler(ClosureObserver { isReady.succeed() }).whenSuccess { hasConnection.open() }
            return base.setup(channel: channel, logger: logger).flatMap { value in isReady.futureResult.map { value } }
        }

        func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
    }

    @Test("A connection that becomes ready while its listener closes is closed without an answer, and the process goes on")
    func late() async throws {
        let hasConnection = Gate()
        let base = HTTP1Channel { _, _, _ in Issue.record("the request was handled") }
        let guardian = ConnectionGuardian(
            tls: nil, limits: ListenerLimits(requestTimeout: .seconds(30), drain: .milliseconds(500)), proxies: [], places: 10)
        let listener = GuardedChannel(base: LateChannel(base: base, hasConnection: hasConnection), listener: guardian, isSecure: false)
        // One thread, so that listener and connection act in one order.
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await RunningService.start { onReady in
            listener.server(
                configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    if let url = URL(string: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)") { await onReady(url) }
                },
                eventLoopGroup: threads, logger: .silent)
        }
        let client = try RawClient(port: server.port)
        client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try await hasConnection.wait()
        try await server.stop()
        let answer = await client.readToEnd()
        #expect(answer.text.isEmpty && answer.isClosed)
        try await threads.shutdownGracefully()
    }
}
