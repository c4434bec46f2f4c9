internal import NIOCore

/// A request's channel with the client's address, which a trusted proxy may have named; everything else is the underlying channel's.
///
/// So every request context reads the client's address in the same place, also when the client has reset the connection since.
final class RequestChannel: Channel {
    private let base: any Channel
    private let table: ConnectionTable
    let remoteAddress: SocketAddress?

    init(_ base: any Channel, remoteAddress: SocketAddress?, table: ConnectionTable) {
        self.base = base
        self.remoteAddress = remoteAddress
        self.table = table
    }

    /// Sets when the request must be over, if that is earlier than the listener's limit.
    func mustEnd(by deadline: NIODeadline) { table.requestMustEnd(on: base, by: deadline) }

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
