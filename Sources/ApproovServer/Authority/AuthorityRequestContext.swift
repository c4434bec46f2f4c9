internal import Hummingbird
internal import NIOCore

/// What a request to the authority carries: beside Hummingbird's things, the address it came from.
struct AuthorityRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection's own address.
    ///
    /// Headers of proxies are not read: anybody can send them.
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
    }
}
