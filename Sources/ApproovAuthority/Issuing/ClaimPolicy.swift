internal import Attestation
internal import GRDB

/// The claims that the account's tokens have, genuine ones and decoys alike.
struct ClaimPolicy: Sendable, Hashable {
    /// Whether tokens name their host in `aud`.
    var audience: Bool
    /// Whether tokens name the account in `iss`.
    var issuer: Bool
    /// Whether tokens name the device in `sub`.
    var subject: Bool
    /// Whether tokens have the installation's public key in `ipk`.
    var installationKey: Bool

    /// Returns the claims without those that the policy switches off.
    ///
    /// The subject is made from `did`, so a token that names no device, such as one for an oblivious host, has none.
    func applied(to claims: TokenClaims) -> TokenClaims {
        var claims = claims
        if !audience { claims.aud = nil }
        if !issuer { claims.iss = nil }
        if !installationKey { claims.ipk = nil }
        claims.sub = subject ? claims.did.map { "approov|" + $0 } : nil
        return claims
    }
}

extension ClaimPolicy {
    /// Reads the policy from the account's row; the store's schema has the defaults.
    init(_ account: Row) throws {
        try self.init(
            audience: account.value("audience"), issuer: account.value("issuer"), subject: account.value("subject"),
            installationKey: account.value("installationKey"))
    }
}
