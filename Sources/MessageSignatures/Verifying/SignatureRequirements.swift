/// What a verifier requires of a valid signature.
public struct SignatureRequirements: Sendable {
    /// The components that the signature must cover; it may cover more.
    public var components: [SignatureComponent]
    /// The tag that the signature must have; nil to require a signature without a tag, because a tag says which application a signature is
    /// for.
    public var tag: String?
    /// The longest time since the signature was created, in whole seconds; ``clockSkew`` is added to it.
    ///
    /// ``clockSkew`` is also added to the parameter `expires`, which can end the time earlier.
    public var maximumAge: Duration = .seconds(60)
    /// How far the clocks of signer and verifier may differ, in whole seconds.
    public var clockSkew: Duration = .seconds(30)
    /// Whether the parameter `expires` must be there.
    ///
    /// `created` always must be.
    public var requiresExpires = false
    /// Whether the parameter `alg` must be there.
    ///
    /// If it is there it must always be the key's algorithm.
    public var requiresAlgorithm = false
    /// Whether the parameter `nonce` must be there.
    ///
    /// The verifier does not remember nonces; the application can.
    public var requiresNonce = false
    /// Whether a signature may be a string with base64 in it.
    ///
    /// RFC 9421, section 4.2 demands a byte sequence. The OkHttp layer of Approov's own SDK sends a string in release 3.5.6.
    public var acceptsStringSignatures = false

    /// Makes requirements; the other settings have their defaults.
    ///
    /// - Parameter components: The components that the signature must cover; it may cover more.
    public init(covering components: [SignatureComponent]) { self.components = components }
}
