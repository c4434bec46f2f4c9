internal import HTTPServing
internal import Hummingbird
internal import NIOCore

/// The context of a request to the gateway: it keeps the connection's event loop, and the client's address only for the limit per client.
struct GatewayRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let eventLoop: any EventLoop
    let timeLimit: RequestTimeLimit
    /// The connection's remote address, or the client's if a trusted proxy named it.
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        eventLoop = source.channel.eventLoop
        timeLimit = RequestTimeLimit(source.channel)
        remoteAddress = source.channel.remoteAddress
    }
}
