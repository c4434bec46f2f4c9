internal import HTTPServing
internal import Hummingbird
internal import NIOCore

/// The context of a request to the gateway: it keeps the connection's event loop, but not the client's address.
struct GatewayRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let eventLoop: any EventLoop
    let timeLimit: RequestTimeLimit

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        eventLoop = source.channel.eventLoop
        timeLimit = RequestTimeLimit(source.channel)
    }
}
