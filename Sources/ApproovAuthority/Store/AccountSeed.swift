import ApproovBase
public import ApproovTokens
public import Crypto

/// What a new store begins with.
///
/// Without one a store makes its own keys, which is what everybody wants but a demo.
public struct AccountSeed: Sendable {
    /// The account's name: 1 to 128 visible ASCII characters.
    public var account: String
    /// Signs the tokens of hosts that name no keyset.
    public var secret: AccountSecret
    /// Signs configurations.
    public var configurationKey: P256.Signing.PrivateKey
    /// What the authority serves with when it is given no certificate; nil for keys of its own.
    public var identity: ServerIdentity?

    /// Makes a seed.
    /// - Parameters:
    ///   - account: The account's name; nil for `account-` and eight random characters.
    ///   - secret: The account secret; nil for a random one of 64 bytes.
    ///   - configurationKey: The key that signs configurations; nil for a random one.
    ///   - identity: The authority's own keys and certificate; nil for new ones at the first start.
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
