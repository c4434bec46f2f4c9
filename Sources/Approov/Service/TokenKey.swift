import Attestation
import CertificatePinning

/// What a token is for: two requests with equal keys share one.
struct TokenKey: Hashable, Sendable {
    /// The name of the host that is called, which becomes the token's audience.
    ///
    /// Never the text of its entry in the configuration: where that is for many hosts, the token for one is good at no other.
    let host: String
    /// The hash of the value that the token is bound to; the value itself is kept nowhere.
    let payHash: String?
    /// Tokens for oblivious hosts identify nobody and are kept apart.
    let isOblivious: Bool

    init(host: String, payHash: String?, isOblivious: Bool) {
        self.host = host
        self.payHash = payHash
        self.isOblivious = isOblivious
    }

    /// The key of requests to a host.
    ///
    /// - Parameters:
    ///   - host: The host that is called.
    ///   - entry: What the configuration says about it.
    ///   - binding: The value that the token is bound to.
    init(host: CanonicalHost, entry: ProtectedHost, binding: String?) {
        self.init(host: host.name, payHash: binding.map(Binding.payHash), isOblivious: entry.settings.oblivious)
    }
}
