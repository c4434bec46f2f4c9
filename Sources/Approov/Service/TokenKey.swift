import Attestation
import CertificatePinning

/// The cache key of a token: requests with equal keys share one token.
struct TokenKey: Hashable, Sendable {
    /// The canonical name of the called host, which becomes the token's audience.
    ///
    /// Never the pattern of its entry in the configuration: a token for one host of a pattern is not valid for the others.
    let host: String
    /// The hash of the binding, which itself is not kept; nil if the token is unbound.
    let payHash: String?
    /// Whether the host is oblivious; such tokens do not identify the installation and are cached separately.
    let isOblivious: Bool

    init(host: String, payHash: String?, isOblivious: Bool) {
        self.host = host
        self.payHash = payHash
        self.isOblivious = isOblivious
    }

    /// Makes the key for requests to a host.
    ///
    /// - Parameters:
    ///   - host: The called host.
    ///   - entry: The host's entry in the configuration.
    ///   - binding: The value to tie the token to; nil for none.
    init(host: CanonicalHost, entry: ProtectedHost, binding: String?) {
        self.init(host: host.name, payHash: binding.map(Binding.payHash), isOblivious: entry.settings.oblivious)
    }
}
