public import Attestation
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The account's message-signing key, for the backends that check signatures; nil until the first one is made.
    public var messageSigningKey: MessageSigningKey? { snapshot.messageSigningKey }

    /// Replaces the message-signing key by a random one of 64 printable bytes, or makes the first one.
    ///
    /// Apps sign with the new key once they have attested again, which takes at most the lifetime of a token. The old key is forgotten; a
    /// backend can tell the keys apart by their identifiers.
    /// - Returns: The new key.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    @discardableResult
    public func changeMessageSigningKey() async throws -> MessageSigningKey {
        var key = try MessageSigningKey.generate()
        // A verifier chooses the key by its identifier.
        while key.id == messageSigningKey?.id { key = try MessageSigningKey.generate() }
        let new = key
        try await change { database in
            try database.execute(sql: "UPDATE account SET messageSigningKey = ?", arguments: [Data(new.key)])
        }
        return new
    }
}
