public import Crypto

/// The facts that evidence must contain besides the attester's own.
public struct EvidenceRequest: Sendable, Hashable {
    /// The authority's challenge.
    public var challenge: String
    /// The authority's URL, which prevents evidence from being forwarded to another authority.
    public var audience: String
    /// The account's name.
    public var account: String
    /// The host that the token is for.
    public var host: String
    /// The `pay` claim of the requested token; nil if the token is not bound.
    public var payHash: String?
    /// The version of this package.
    public var sdkVersion: String
    /// The version of the configuration in force.
    public var configVersion: Int64
    /// The base64url of the SHA-256 of the payload of the configuration in force; nil if it is not stated.
    public var configHash: String?
    /// Whether the token is a limited-use token.
    public var limitedUse: Bool
    /// The key that the evidence must prove, so that an unregistered build passes; nil for none.
    public var developmentKey: DevelopmentKey?
    /// The base64url of the SHA-256 of the custom claims that travel beside the evidence; nil if no custom JWT is requested.
    public var customClaimsHash: String?

    /// Makes a request for evidence.
    ///
    /// - Parameters:
    ///   - challenge: The authority's challenge.
    ///   - audience: The authority's URL.
    ///   - account: The account's name.
    ///   - host: The host that the token is for.
    ///   - payHash: The `pay` claim of the requested token; nil if the token is not bound.
    ///   - sdkVersion: The version of this package.
    ///   - configVersion: The version of the configuration in force.
    ///   - configHash: The base64url of the SHA-256 of the payload of the configuration in force; nil not to state it.
    ///   - limitedUse: Whether the token is a limited-use token.
    ///   - developmentKey: The key that the evidence must prove; nil for none.
    ///   - customClaimsHash: The base64url of the SHA-256 of the custom claims beside the evidence; nil if no custom JWT is requested.
    public init(
        challenge: String, audience: String, account: String, host: String, payHash: String? = nil, sdkVersion: String,
        configVersion: Int64, configHash: String? = nil, limitedUse: Bool = false, developmentKey: DevelopmentKey? = nil,
        customClaimsHash: String? = nil
    ) {
        self.challenge = challenge
        self.audience = audience
        self.account = account
        self.host = host
        self.payHash = payHash
        self.sdkVersion = sdkVersion
        self.configVersion = configVersion
        self.configHash = configHash
        self.limitedUse = limitedUse
        self.developmentKey = developmentKey
        self.customClaimsHash = customClaimsHash
    }

    /// Proves the development key, for ``Evidence/developmentKey``.
    ///
    /// - Parameter installationKey: The key that will sign the evidence.
    /// - Returns: The proof; nil if the request has no development key.
    public func developmentProof(of installationKey: P256.Signing.PublicKey) -> String? {
        developmentKey?.proof(challenge: challenge, installationKey: installationKey)
    }
}
