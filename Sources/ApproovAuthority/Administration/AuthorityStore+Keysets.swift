public import ApproovTokens
internal import Attestation
internal import GRDB

extension AuthorityStore {
    /// The most keysets for tokens: a verifier with all of them must have room for the two account secrets of an overlap.
    private static let maximumTokenKeysets = TokenVerifier.maximumKeys - 2

    /// The account's keysets, oldest first.
    public var keysets: [Keyset] { snapshot.keysets }

    /// Creates a keyset.
    /// - Parameters:
    ///   - algorithm: RS256 (2048 bits) or ES256.
    ///   - kid: The key identifier: 1 to 64 letters, digits, `.`, `_` or `-`.
    ///   - use: What the keyset signs. No host can name a keyset for custom JWTs; the newest of these signs.
    /// - Throws: ``AuthorityError`` with code `malformedKeyset` when the algorithm or identifier is not allowed; with code `keysetExists`;
    ///   with code `tooManyKeysets` when the account already has 62 keysets for tokens.
    public func addKeyset(_ algorithm: TokenAlgorithm, kid: String, use: KeysetUse = .token) async throws {
        try Self.checkNewKeyset(kid: kid)
        guard algorithm != .hs256 else {
            throw AuthorityError(
                .malformedKeyset, "a keyset must be RS256 or ES256; hosts without a keyset use HS256")
        }
        guard let pem = try SigningKey.generate(algorithm, kid: kid).pem else {
            throw AuthorityError(.malformedKeyset, "a key for \(algorithm.rawValue) cannot be made")
        }
        let now = now
        try await change { database in
            // Later than the others, even in the same second or after the clock was set back: the newest keyset for custom JWTs signs.
            try database.execute(
                sql: """
                    INSERT OR IGNORE INTO keyset (kid, algorithm, use, pem, addedAt)
                    VALUES (?, ?, ?, ?, MAX(?, IFNULL((SELECT MAX(addedAt) + 1 FROM keyset), 0)))
                    """,
                arguments: [kid, algorithm.rawValue, use.rawValue, pem, now])
            guard database.changesCount == 1 else {
                throw AuthorityError(.keysetExists, "the account already has a keyset \(kid); choose another kid")
            }
            guard use == .token else { return }
            let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM keyset WHERE use = ?", arguments: [use.rawValue]) ?? 0
            guard count <= Self.maximumTokenKeysets else {
                throw AuthorityError(
                    .tooManyKeysets,
                    "the account already has \(Self.maximumTokenKeysets) keysets for tokens, and a verifier holds no more; remove one "
                        + "(approov keyset -remove KID)")
            }
        }
    }

    /// Checks the key identifier of a new keyset, which needs no store, so that a mistake makes none.
    /// - Throws: ``AuthorityError`` with code `malformedKeyset`.
    package static func checkNewKeyset(kid: String) throws {
        guard KeyIdentifier.isAllowedForNewKey(kid) else {
            throw AuthorityError(.malformedKeyset, "the kid of a new keyset must be \(KeyIdentifier.newKeyRule)")
        }
    }

    /// Removes a keyset that no host names.
    ///
    /// Custom JWTs and tokens that it signed no longer verify once their verifiers have dropped its public key.
    /// - Parameter kid: The key identifier.
    /// - Throws: ``AuthorityError`` with code `unknownKeyset`; with code `keysetInUse` while a host names it, or while it is the only one
    ///   for custom JWTs and these are on.
    public func removeKeyset(kid: String) async throws {
        try await change { database in
            if let host = try AccountHost.all(in: database).first(where: { $0.settings.kid == kid }) {
                throw AuthorityError(
                    .keysetInUse,
                    "keyset \(kid) signs the tokens of \(host.name); first give the host another key: approov api -pins '\(host.name)' -keySetKID KID, "
                        + "or -noKeySet for the account secret")
            }
            try Self.refuseOnlyCustomKeyset(kid, in: database)
            try database.execute(sql: "DELETE FROM keyset WHERE kid = ?", arguments: [kid])
            guard database.changesCount == 1 else {
                throw AuthorityError(.unknownKeyset, "the account has no keyset \(kid); see: approov keyset -list")
            }
        }
    }

    private static func refuseOnlyCustomKeyset(_ kid: String, in database: Database) throws {
        let custom = try String.fetchAll(database, sql: "SELECT kid FROM keyset WHERE use = ?", arguments: [KeysetUse.custom.rawValue])
        guard custom == [kid], try Bool.fetchOne(database, sql: "SELECT customTokens FROM account") == true else { return }
        throw AuthorityError(
            .keysetInUse,
            "custom JWTs are signed with keyset \(kid); first add another one (approov keyset -add ES256 -kid KID -use custom), or turn "
                + "custom JWTs off (approov customjwt -enable off)")
    }
}
