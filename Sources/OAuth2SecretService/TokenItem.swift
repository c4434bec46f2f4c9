internal import OAuth2

/// The item of a token in the keyring: its attributes, and what it contains.
///
/// The content is the digest of the token's key, a line feed, and the record. The digest shows when another program put the content of one
/// item into another one.
struct TokenItem: Sendable, CustomStringConvertible {
    /// The name of the items' schema, which libsecret adds to the attributes.
    static let schema = "approov.OAuth2Token"
    /// The names of the attributes.
    static let attributes = (store: "store", key: "key")
    /// The most bytes of an item's content.
    static let maximumBytes = TokenRecord.maximumBytes + 64

    /// The name of the store.
    let store: String
    /// The digest of the token's key.
    let key: String

    /// What the user sees in a program that lists the keyring.
    var label: String { "\(store) (OAuth 2 token)" }

    var description: String { "the item with the attributes store=\(store) key=\(key)" }

    func content(_ token: BearerToken) -> [UInt8] { Array("\(key)\n".utf8) + TokenRecord.bytes(of: token) }

    /// Returns the token in an item's content; nil if it has none, or another account's.
    func token(in content: [UInt8]) -> BearerToken? {
        let head = Array("\(key)\n".utf8)
        guard content.starts(with: head) else { return nil }
        return TokenRecord.token(in: Array(content.dropFirst(head.count)))
    }
}
