import ApproovBase
public import ApproovTokens
public import Crypto

/// The initial content of a new store.
///
/// Without a seed a store makes its own keys, which is right for every account except a demo.
public struct AccountSeed: Sendable {
    /// The account's name: 1 to 128 visible ASCII characters.
    public var account: String
    /// Signs the tokens of hosts that name no keyset.
    public var secret: AccountSecret
    /// Signs configurations.
    public var configurationKey: P256.Signing.PrivateKey
    /// The server identity for an authority without an operator's certificate; nil to make one at the first start.
    public var identity: ServerIdentity?

    /// Creates a seed.
    /// - Parameters:
    ///   - account: The account's name; nil for `account-` and eight random characters.
    ///   - secret: The account secret; nil for a random one of 64 bytes.
    ///   - configurationKey: The key that signs configurations; nil for a random one.
    ///   - identity: The authority's own keys and certificate; nil to make them at the first start.
    public init(
        account: String? = nil, secret: AccountSecret? = nil, configurationKey: P256.Signing.PrivateKey? = nil,
        identity: ServerIdentity? = nil
    ) {
        self.account = account ?? "account-" + Base32.encode(SystemRandom.bytes(5)).lowercased()
        self.secret = secret ?? AccountSecret.generate()
        self.configurationKey = configurationKey ?? P256.Signing.PrivateKey()
        self.identity = identity
    }
}
