public import Attestation
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The account's message-signing key, for the backends that check signatures; nil until the first one is made.
    ///
    /// After a change with an overlap this is the new key, which apps receive from the end of the overlap on.
    public var messageSigningKey: MessageSigningKey? { snapshot.messageSigningKeys.current }

    /// The key that a change with an overlap replaced, and until when apps receive it; nil if there is none.
    ///
    /// Backends need both keys until the last token that names this one has expired. The next change of the key forgets it.
    public var previousMessageSigningKey: (key: MessageSigningKey, signsUntil: Date)? {
        snapshot.messageSigningKeys.previous.map { ($0.key, Date(timeIntervalSince1970: TimeInterval($0.signsUntil))) }
    }

    /// Whether apps still receive the previous message-signing key.
    public var isMessageSigningKeyOverlapping: Bool { snapshot.messageSigningKeys.overlapping(at: now) != nil }

    /// Replaces the message-signing key by a random one of 64 printable bytes, or makes the first one.
    ///
    /// During the overlap, apps receive the old key, so that backends can first be given the new one in addition; a backend can tell the
    /// keys apart by their identifiers. Without an overlap the old key is forgotten. Apps sign with the new key once they have attested
    /// again, which takes at most the lifetime of a token.
    /// - Parameter overlap: How long apps still receive the old key, in whole seconds; 0 to 30 days.
    /// - Returns: The new key.
    /// - Throws: ``AuthorityError`` with code `secretOverlapRunning` when the last change still overlaps and this one has an overlap too;
    ///   with code `invalidConfiguration` when the overlap is out of range; with code `storeUnusable`.
    @discardableResult
    public func changeMessageSigningKey(overlap: Duration = .zero) async throws -> MessageSigningKey {
        let (now, overlap) = (now, overlap.components.seconds)
        return try await change { database in
            guard let account = try Row.fetchOne(database, sql: "SELECT * FROM account") else {
                throw AuthorityError(.storeDamaged, "the store has no account; restore it from a backup")
            }
            let keys = try MessageSigningKeys(account)
            var key = try MessageSigningKey.generate()
            // A verifier chooses the key by its identifier.
            while key.id == keys.current?.id || key.id == keys.previous?.key.id { key = try MessageSigningKey.generate() }
            try keys.replaced(by: key, overlap: overlap, at: now).save(in: database)
            return key
        }
    }
}
