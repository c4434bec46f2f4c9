import CertificatePinning

/// What requests have in common that share look-ups: the policy, and the way to the responder.
///
/// A look-up for a proxy must not bypass the proxy, nor the other way round. A request that refuses private addresses must not get the
/// answer of one that connected to them. A look-up leaves from the local address of its request.
struct LookupRoute: Hashable {
    let generation: UInt64
    let proxy: ProxyConfiguration?
    let localAddress: CanonicalHost?
    let refusesPrivateAddresses: Bool

    init(of request: TransportRequest) {
        generation = request.policy.generation
        proxy = request.options.proxy
        localAddress = request.options.localAddress
        refusesPrivateAddresses = request.options.refusesPrivateAddresses
    }
}

/// A look-up over a route: the key by which requests share it.
struct RoutedLookup: Hashable {
    let lookup: TrustLookup
    let route: LookupRoute
}
