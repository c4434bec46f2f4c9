internal import GRDB

extension AuthorityStore {
    /// Whether apps may request custom JWTs.
    ///
    /// They get one only if the account also has a keyset for them (``customKeyset``).
    public var allowsCustomTokens: Bool { snapshot.allowsCustomTokens }

    /// The keyset that signs custom JWTs: the newest one for this use; nil if there is none.
    public var customKeyset: Keyset? { Keyset.forCustomTokens(in: snapshot.keysets) }

    /// Sets whether apps may request custom JWTs.
    ///
    /// Off by default.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setAllowsCustomTokens(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET customTokens = ?", arguments: [isOn])
        }
    }
}
