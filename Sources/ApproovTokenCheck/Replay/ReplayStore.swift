/// Remembers which limited-use tokens were used, so that each passes once.
///
/// The package has ``MemoryReplayStore``, and `SQLiteReplayStore` in the product ApproovReplayStores. To use another database, write a type
/// that conforms to this protocol. With PostgreSQL, one statement is enough:
///
///     INSERT INTO used_token (issuer, jti, until)
///         SELECT $1, $2, $3 WHERE $3 > (SELECT removed_through FROM replay_state FOR SHARE) ON CONFLICT DO NOTHING
///
/// One inserted row means true, none means false. The primary key is (issuer, jti); a missing issuer may be stored as the empty text. A
/// transaction that removes records must first raise `removed_through` to the latest `until` among them: after the clock was set back, a
/// token whose record is gone must not pass again. `FOR SHARE` makes the statement wait for such a transaction: without it, it could see
/// the old `removed_through` and yet no record. All machines that accept the same tokens must share one store.
public protocol ReplayStore: Sendable {
    /// Records the use of a token, unless a use of it is already recorded.
    ///
    /// Of any number of concurrent calls for one token, exactly one returns true. When it returns, the use is recorded as durably as the
    /// store promises. The store keeps the record until `end`; it may remove it after that.
    ///
    /// A check waits a limited time and then cancels the calling task. The store should then drop a use that it has not yet recorded, and
    /// throw.
    ///
    /// - Parameters:
    ///   - jti: The token's `jti`, 1 to 256 bytes. It is unique per issuer.
    ///   - issuer: The token's `iss`; nil if it has none.
    ///   - end: When the record may be removed, in seconds since 1970: no check accepts the token from then on. Checks with different
    ///     settings may pass different ends for one token, so it must not be part of the key. Give all checks that share a store the same
    ///     `clockSkew` and `storeTimeout`: otherwise a check with a later end may accept a token again whose record was removed before the
    ///     clock was set back.
    /// - Returns: True for the first use. False if the token was used before, or if the store has removed records with this end or a later
    ///   one and so cannot know.
    /// - Throws: Any error when the use could not be recorded. The check then answers 503, and the request does not reach the handler.
    func consume(_ jti: String, of issuer: String?, until end: Int64) async throws -> Bool
}
