import Attestation

/// What a token is for: two requests with equal keys share one.
struct TokenKey: Hashable, Sendable {
    /// The name of the host's entry in the configuration.
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

    init(host: ProtectedHost, binding: String?) {
        self.init(host: host.name, payHash: binding.map(Binding.payHash), isOblivious: host.settings.oblivious)
    }
}
