import Attestation
import HTTPClient
import OHTTP

/// Station 7: decides whether a request goes directly or over a relay.
struct WayStation: Sendable {
    /// The route to hosts that the configuration does not name; nil to call them directly.
    let ownRoute: ObliviousRoute?
    /// Whether requests that would go directly are refused.
    let isDirectRefused: Bool

    /// The live keys for a host, which must be fetched before ``route(for:under:liveKey:)``; nil if there are none.
    func liveKeys(under hop: ResolvedHop) -> LiveKeys? { hop.rule == nil ? ownRoute?.liveKeys : nil }

    /// Whether requests to a host go over a relay.
    func isOblivious(under hop: ResolvedHop) -> Bool { hop.rule.map(\.settings.oblivious) ?? (ownRoute != nil) }

    /// Decides which way a request goes.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - hop: The rules for its host.
    ///   - liveKey: The key to use if the session's route has live keys.
    /// - Returns: The relay to use; nil to call the host directly.
    /// - Throws: ``ApproovError`` when the request would go directly but must not, because that would tell who calls: with code
    ///   `configurationError` when the host is oblivious and the configuration has no relay, `obliviousError` when the session refuses
    ///   direct requests, and `redirectRefused` when a host that is called over a relay redirected here.
    func route(for step: RedirectStep, under hop: ResolvedHop, liveKey: KeyConfiguration? = nil) throws -> KeyedRoute? {
        let (name, rule) = (step.url.host, hop.rule)
        if let route = rule == nil ? ownRoute : hop.snapshot?.obliviousRoute, rule?.settings.oblivious ?? true {
            guard let keyed = route.keyed(liveKey) else {
                throw ApproovError(.obliviousError, "the gateway's keys are not known; send the request again")
            }
            return keyed
        }
        guard rule?.settings.oblivious != true else {
            throw ApproovError(
                .configurationError,
                "the configuration says that \(name) is called over Oblivious HTTP, but names no relay: set one with `approov oblivious -set`"
            )
        }
        guard !isDirectRefused else {
            throw ApproovError(
                .obliviousError,
                "\(name) is not oblivious in the configuration, and this session sends no request directly: make the host oblivious with"
                    + " `approov api -pins HOST -oblivious`, or with -add if the account does not have it")
        }
        guard !step.isBehindRelay else {
            throw ApproovError(
                .redirectRefused,
                "a host that is called over Oblivious HTTP redirects to \(name), which is called directly and would learn who calls: make"
                    + " it oblivious, too")
        }
        return nil
    }
}
