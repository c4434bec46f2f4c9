internal import Attestation
internal import GRDB

extension AuthorityStore {
    /// The predefined secure strings, ordered by key, without their values.
    public var secureStrings: [SecureString] { snapshot.secureStrings }

    /// Sets a predefined secure string, which every app receives with its next attestation if its evidence is genuine.
    ///
    /// An existing string gets the new value.
    /// - Parameters:
    ///   - value: The secret: 1 to 4,096 bytes of UTF-8 without CR, LF and NUL.
    ///   - key: The name by which apps look it up: 1 to 64 visible ASCII characters.
    /// - Throws: ``AuthorityError`` with code `malformedSecureString` when key or value is not allowed; with code `tooManySecureStrings`
    ///   when the account already has 16 others; with code `storeUnusable`. No message contains the value.
    public func setSecureString(_ value: String, for key: String) async throws {
        try Self.checkSecureString(value, for: key)
        let now = now
        try await change { database in
            try database.execute(
                sql: """
                    INSERT INTO secureString (key, value, changedAt) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET value = excluded.value, changedAt = excluded.changedAt
                    """,
                arguments: [key, value, now])
            guard try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM secureString") ?? 0 <= SecureStringRules.maximumCount else {
                throw AuthorityError(
                    .tooManySecureStrings,
                    "the account already has \(SecureStringRules.maximumCount) secure strings; first remove one: approov secstrings -remove K"
                )
            }
        }
    }

    /// Removes a predefined secure string; apps lose it with their next attestation.
    /// - Parameter key: Its key.
    /// - Throws: ``AuthorityError`` with code `malformedSecureString` when no string can have this key; with code `unknownSecureString`;
    ///   with code `storeUnusable`.
    public func removeSecureString(_ key: String) async throws {
        try Self.check(key)
        try await change { database in
            try database.execute(sql: "DELETE FROM secureString WHERE key = ?", arguments: [key])
            guard database.changesCount == 1 else {
                throw AuthorityError(.unknownSecureString, "the account has no secure string \(key); see: approov secstrings -list")
            }
        }
    }

    /// Checks a new secure string, which needs no store, so that a mistake makes none.
    /// - Throws: ``AuthorityError`` with code `malformedSecureString`. The message does not contain the value.
    package static func checkSecureString(_ value: String, for key: String) throws {
        try check(key)
        guard SecureStringRules.isValue(value) else {
            throw AuthorityError(
                .malformedSecureString,
                "the value of secure string \(key) must be \(SecureStringRules.valueRule); to remove it: approov secstrings -remove \(key)")
        }
    }

    private static func check(_ key: String) throws {
        // The message does not repeat the key: it may be a value that was given in the wrong place.
        guard SecureStringRules.isKey(key) else {
            throw AuthorityError(.malformedSecureString, "the key of a secure string must be \(SecureStringRules.keyRule)")
        }
    }
}
