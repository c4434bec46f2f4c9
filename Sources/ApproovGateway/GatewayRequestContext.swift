internal import Hummingbird
internal import NIOCore

/// The context of a request to the gateway: where its connection is worked on, and not where it comes from.
struct GatewayRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let eventLoop: any EventLoop

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        eventLoop = source.channel.eventLoop
    }
}
