internal import NIOCore

/// A request's channel with the remote address that a trusted proxy named; everything else is the underlying channel's.
///
/// So every request context reads the client's address in the same place as for a direct connection.
final class ProxiedChannel: Channel {
    private let base: any Channel
    let remoteAddress: SocketAddress?

    init(_ base: any Channel, remoteAddress: SocketAddress) {
        self.base = base
        self.remoteAddress = remoteAddress
    }

    var allocator: ByteBufferAllocator { base.allocator }
    var closeFuture: EventLoopFuture<Void> { base.closeFuture }
    var pipeline: ChannelPipeline { base.pipeline }
    var localAddress: SocketAddress? { base.localAddress }
    var parent: (any Channel)? { base.parent }
    var isWritable: Bool { base.isWritable }
    var isActive: Bool { base.isActive }
    var _channelCore: any ChannelCore { base._channelCore }
    var eventLoop: any EventLoop { base.eventLoop }
    var syncOptions: (any NIOSynchronousChannelOptions)? { base.syncOptions }

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        base.setOption(option, value: value)
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> { base.getOption(option) }
}
