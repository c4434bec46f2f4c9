extension AuthorityStore {
    /// Whether tokens name their host (`aud`; RFC 7519, section 4.1.3).
    public var namesAudience: Bool { snapshot.claimPolicy.audience }

    /// Sets whether tokens name their host in `aud`.
    ///
    /// On by default. Turn it off for backends that refuse a token with an audience unless they are configured with one, as PyJWT does. A
    /// token without `aud` is valid at every host whose backend has the same key, and a `TokenVerifier` with an audience refuses it.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setNamesAudience(_ isOn: Bool) async throws { try await changePolicy(PolicyChange(audience: isOn)) }

    /// Whether tokens name the account (`iss`; RFC 7519, section 4.1.1).
    public var namesIssuer: Bool { snapshot.claimPolicy.issuer }

    /// Sets whether tokens name the account in `iss`.
    ///
    /// Off by default. A store of a release that always named the account keeps it on.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setNamesIssuer(_ isOn: Bool) async throws { try await changePolicy(PolicyChange(issuer: isOn)) }

    /// Whether tokens name the device (`sub`; RFC 7519, section 4.1.2).
    public var namesSubject: Bool { snapshot.claimPolicy.subject }

    /// Sets whether tokens name the device in `sub`, as `approov|` and the claim `did`.
    ///
    /// Off by default. Tokens for oblivious hosts never have it.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setNamesSubject(_ isOn: Bool) async throws { try await changePolicy(PolicyChange(subject: isOn)) }

    /// Whether tokens have the installation's public key (`ipk`).
    public var includesInstallationKey: Bool { snapshot.claimPolicy.installationKey }

    /// Sets whether tokens have the installation's public key in `ipk`.
    ///
    /// On by default; an API needs it to verify the installation's message signatures. Tokens for oblivious hosts never have it.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setIncludesInstallationKey(_ isOn: Bool) async throws { try await changePolicy(PolicyChange(installationKey: isOn)) }
}
