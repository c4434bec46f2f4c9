package import ApproovBase

/// The account's message-signing key: apps sign requests with it, and an API checks them (HMAC-SHA256; RFC 9421, section 3.3.3).
///
/// The key's bytes are used directly. A token names the key in its claim `mskid`. `description` gives only the identifier, and `dump` shows
/// nothing, so that the key is not logged by accident.
public struct MessageSigningKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The fewest bytes of a key: the size of the hash.
    public static let minimumBytes = 32
    /// The most bytes of a key.
    public static let maximumBytes = 1_024
    /// The number of bytes of a generated key.
    public static let generatedBytes = 64
    /// The number of characters of a generated key that name it.
    private static let identifierLength = 6

    /// The identifier, as in the claim `mskid`: 1 to 64 visible ASCII characters.
    public let id: String
    /// The key itself; do not log it.
    public let key: [UInt8]

    /// Makes a key from its parts.
    ///
    /// - Parameters:
    ///   - id: The identifier: 1 to 64 visible ASCII characters.
    ///   - key: The key: 32 to 1,024 bytes.
    /// - Throws: ``AttestationError`` with code `malformedKey` when a part is not allowed.
    public init(id: String, key: [UInt8]) throws(AttestationError) {
        guard KeyIdentifier.isReadable(id) else {
            throw AttestationError(.malformedKey, "the identifier of a message-signing key must be \(KeyIdentifier.readableRule)")
        }
        guard (Self.minimumBytes...Self.maximumBytes).contains(key.count) else {
            throw AttestationError(
                .malformedKey,
                "a message-signing key must have \(Self.minimumBytes) to \(Self.maximumBytes) bytes; use what "
                    + "`approov secret -messageSigningKey get-base64url` prints")
        }
        self.id = id
        self.key = key
    }

    /// Makes a key whose identifier is its first six characters, as `approov secret -messageSigningKey change` does.
    ///
    /// - Parameter key: The key: 32 to 1,024 bytes, of which the first six are visible ASCII characters.
    /// - Throws: ``AttestationError`` with code `malformedKey` when the key has another form.
    public init(key: [UInt8]) throws(AttestationError) {
        try self.init(id: String(decoding: key.prefix(Self.identifierLength), as: UTF8.self), key: key)
    }

    /// Makes a key of 64 printable bytes, the base64url of 48 random ones, so that it can also be used as text.
    package static func generate() throws(AttestationError) -> MessageSigningKey {
        try MessageSigningKey(key: Array(Base64URL.encode(SystemRandom.bytes(generatedBytes / 4 * 3)).utf8))
    }

    /// Makes a random key with the identifier, the length and the form of this one, for apps that are not genuine.
    ///
    /// A generated key begins with its identifier and consists of printable characters, so its decoy does too.
    package func decoy() throws(AttestationError) -> MessageSigningKey {
        let isText = key.starts(with: id.utf8) && key.allSatisfy { (0x21...0x7e).contains($0) }
        guard isText else { return try MessageSigningKey(id: id, key: SystemRandom.bytes(key.count)) }
        // The base64url of as many random bytes is longer than that.
        let random = Base64URL.encode(SystemRandom.bytes(key.count)).utf8
        return try MessageSigningKey(id: id, key: Array((Array(id.utf8) + random).prefix(key.count)))
    }

    /// Reads `id` and `key`.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember` when a member is missing or of the wrong type; with code `malformedKey`
    ///   when the identifier or the key is not allowed.
    package init(json: JSONValue) throws(AttestationError) {
        guard let bytes = Base64.decode(try json.string("key")) else {
            throw AttestationError(.malformedMember, "must be padded base64", member: "key")
        }
        try self.init(id: try json.string("id"), key: bytes)
    }

    /// An object with `id` and `key`, the latter in padded base64.
    package var json: JSONValue { .object(["id": .string(id), "key": .string(Base64.encode(key))]) }

    /// The key in unpadded base64url, as `approov secret -messageSigningKey get-base64url` prints it.
    public var base64url: String { Base64URL.encode(key) }

    /// The identifier.
    public var description: String { "MessageSigningKey(\(id))" }

    /// An empty mirror, so that `dump` does not show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
