package import ApproovBase

/// The claims of a token (RFC 7519, section 4, and Approov's own claims).
public struct TokenClaims: Sendable, Hashable {
    /// When the token expires, in seconds since 1970.
    public var exp: Int64
    /// When the token was issued, in seconds since 1970.
    public var iat: Int64?
    /// The app's IP address as seen by the authority.
    public var ip: String?
    /// The device ID, padded base64 of 16 bytes.
    public var did: String?
    /// The attestation response code in base32.
    public var arc: String?
    /// The padded base64 of the SHA-256 of the binding; nil if the token is not bound.
    public var pay: String?
    /// The issuer of the token.
    public var iss: String?
    /// The host that the token is for.
    public var aud: String?
    /// The installation's public key, base64 of its DER SubjectPublicKeyInfo.
    public var ipk: String?
    /// The authority's annotations for the API.
    public var anno: [String]?
    /// The subject: `approov|` and the device ID.
    public var sub: String?
    /// The identifier of the account's message-signing key.
    public var mskid: String?
    /// The identifier of a limited-use token, which is valid for one request (RFC 7519, section 4.1.7).
    public var jti: String?

    /// The most annotations that are read.
    public static let maximumAnnotations = 64

    /// Makes claims; only `exp` is required.
    ///
    /// - Parameters:
    ///   - exp: When the token expires, in seconds since 1970.
    ///   - iat: When the token was issued, in seconds since 1970.
    ///   - ip: The app's IP address as seen by the authority.
    ///   - did: The device ID, padded base64 of 16 bytes.
    ///   - arc: The attestation response code in base32.
    ///   - pay: The padded base64 of the SHA-256 of the binding; nil if the token is not bound.
    ///   - iss: The issuer of the token.
    ///   - aud: The host that the token is for.
    ///   - ipk: The installation's public key, base64 of its DER SubjectPublicKeyInfo.
    ///   - anno: The authority's annotations for the API.
    ///   - sub: The subject: `approov|` and the device ID.
    ///   - mskid: The identifier of the account's message-signing key.
    ///   - jti: The identifier of a limited-use token; nil for a token that may be used often.
    public init(
        exp: Int64, iat: Int64? = nil, ip: String? = nil, did: String? = nil, arc: String? = nil, pay: String? = nil,
        iss: String? = nil, aud: String? = nil, ipk: String? = nil, anno: [String]? = nil, sub: String? = nil,
        mskid: String? = nil, jti: String? = nil
    ) {
        self.exp = exp
        self.iat = iat
        self.ip = ip
        self.did = did
        self.arc = arc
        self.pay = pay
        self.iss = iss
        self.aud = aud
        self.ipk = ipk
        self.anno = anno
        self.sub = sub
        self.mskid = mskid
        self.jti = jti
    }

    /// Reads the claims; ignores unknown claims and refuses known ones of the wrong type.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember`, naming the claim.
    package init(json: JSONValue) throws(AttestationError) {
        exp = try json.integer("exp", in: positiveSafeIntegers)
        iat = try json.optionalInteger("iat", in: positiveSafeIntegers)
        ip = try json.optionalString("ip")
        did = try json.optionalString("did")
        arc = try json.optionalString("arc")
        pay = try json.optionalString("pay")
        iss = try json.optionalString("iss")
        aud = try json.optionalString("aud")
        ipk = try json.optionalString("ipk")
        anno = try json.optionalStrings("anno")
        sub = try json.optionalString("sub")
        mskid = try json.optionalString("mskid")
        jti = try json.optionalString("jti")
        guard anno?.count ?? 0 <= TokenClaims.maximumAnnotations else {
            throw AttestationError(.malformedMember, "must have at most \(TokenClaims.maximumAnnotations) elements", member: "anno")
        }
    }

    /// All claims that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject([
            "exp": .integer(exp), "iat": iat.map(JSONValue.integer), "ip": ip.map(JSONValue.string), "did": did.map(JSONValue.string),
            "arc": arc.map(JSONValue.string), "pay": pay.map(JSONValue.string), "iss": iss.map(JSONValue.string),
            "aud": aud.map(JSONValue.string), "ipk": ipk.map(JSONValue.string), "anno": anno.map(JSONValue.strings),
            "sub": sub.map(JSONValue.string), "mskid": mskid.map(JSONValue.string), "jti": jti.map(JSONValue.string),
        ])
    }
}
