package import ApproovBase

/// The rule for one host, or one host pattern, of the account.
public struct HostSettings: Sendable, Hashable {
    /// The host's pins: `sha256/` and the base64 of the SHA-256 of a SubjectPublicKeyInfo.
    ///
    /// If empty, the managed trust roots are used.
    public var pins: [String]
    /// Whether the pins are enforced; if not, path validation alone decides.
    public var enforce: Bool
    /// Whether requests to the host carry a token.
    public var attested: Bool
    /// Whether requests to the host travel through Oblivious HTTP.
    public var oblivious: Bool
    /// Whether the rule includes the host's subdomains.
    public var includeSubdomains: Bool
    /// The date by which the pins should be replaced, in seconds since 1970.
    ///
    /// Passing it is reported, but the pins stay in force.
    public var pinsExpireAt: Int64?
    /// PEM certificates that replace the system's roots for this host.
    public var trustRoots: String?
    /// The name of the key that signs this host's tokens; nil for the account secret.
    public var kid: String?

    /// Makes a host rule; by default pins are enforced and requests carry tokens.
    ///
    /// - Parameters:
    ///   - pins: The host's pins; if empty, the managed trust roots are used.
    ///   - enforce: Whether the pins are enforced; if not, path validation alone decides.
    ///   - attested: Whether requests to the host carry a token.
    ///   - oblivious: Whether requests to the host travel through Oblivious HTTP.
    ///   - includeSubdomains: Whether the rule includes the host's subdomains.
    ///   - pinsExpireAt: The date by which the pins should be replaced, in seconds since 1970.
    ///   - trustRoots: PEM certificates that replace the system's roots for this host.
    ///   - kid: The name of the key that signs this host's tokens; nil for the account secret.
    public init(
        pins: [String] = [], enforce: Bool = true, attested: Bool = true, oblivious: Bool = false, includeSubdomains: Bool = false,
        pinsExpireAt: Int64? = nil, trustRoots: String? = nil, kid: String? = nil
    ) {
        self.pins = pins
        self.enforce = enforce
        self.attested = attested
        self.oblivious = oblivious
        self.includeSubdomains = includeSubdomains
        self.pinsExpireAt = pinsExpireAt
        self.trustRoots = trustRoots
        self.kid = kid
    }

    /// Reads the members; ignores unknown ones.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` naming the member that is missing or malformed.
    package init(json: JSONValue) throws(AttestationError) {
        pins = try json.elements("pins") { (element) throws(AttestationError) in try PinRules.validated(element) }
        enforce = try json.bool("enforce", default: true)
        attested = try json.bool("attested", default: true)
        oblivious = try json.bool("oblivious", default: false)
        includeSubdomains = try json.bool("includeSubdomains", default: false)
        pinsExpireAt = try json.optionalInteger("pinsExpireAt", in: positiveSafeIntegers)
        trustRoots = try json.optionalString("trustRoots")
        kid = try json.optionalString("kid")
        try checkTexts()
    }

    /// All members that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject([
            "pins": .strings(pins), "enforce": .bool(enforce), "attested": .bool(attested), "oblivious": .bool(oblivious),
            "includeSubdomains": .bool(includeSubdomains), "pinsExpireAt": pinsExpireAt.map(JSONValue.integer),
            "trustRoots": trustRoots.map(JSONValue.string), "kid": kid.map(JSONValue.string),
        ])
    }

    private func checkTexts() throws(AttestationError) {
        if let trustRoots { try TrustRootRules.check(trustRoots, member: "trustRoots") }
        if let kid, !KeyIdentifier.isReadable(kid) {
            throw AttestationError(.malformedMember, "must be \(KeyIdentifier.readableRule)", member: "kid")
        }
    }
}
