package import ApproovBase
import Crypto

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
        pins = try json.elements("pins") { (element) throws(AttestationError) in try PinText.validated(element) }
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
        if let trustRoots { try PEMText.check(trustRoots, member: "trustRoots") }
        if let kid, !KeyIdentifier.isReadable(kid) {
            throw AttestationError(.malformedMember, "must be \(KeyIdentifier.readableRule)", member: "kid")
        }
    }
}

/// Checks the spelling of pins.
///
/// The module CertificatePinning gives them their meaning.
enum PinText {
    static let prefix = "sha256/"
    private static let hashOfNothing = [UInt8](SHA256.hash(data: [UInt8]()))

    /// Returns the element's text if it is a pin.
    static func validated(_ element: JSONValue) throws(AttestationError) -> String {
        let text = try element.string()
        guard bytes(of: text) != nil else {
            throw AttestationError(
                .malformedMember,
                "is not a pin; write sha256/ followed by the padded base64 of 32 bytes (`approov pin -get HOST` prints it)")
        }
        return text
    }

    /// Returns the hash in a pin; nil if the text is not a pin.
    static func bytes(of text: String) -> [UInt8]? {
        let encoded = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        guard let bytes = Base64.decode(encoded), bytes.count == 32 else { return nil }
        return bytes
    }

    /// Refuses pins that look like a backup but are not.
    ///
    /// These are a key named twice, in either spelling, and the SHA-256 of zero bytes, which a pipe into `openssl dgst` prints if the
    /// command before it failed.
    static func requireDifferentKeys(_ pins: [String], member: String) throws(AttestationError) {
        guard distinct(pins) == pins.count else {
            throw AttestationError(
                .malformedConfiguration, "names a key twice; remove the second entry, or replace it with a backup key's pin",
                member: member)
        }
        guard pins.contains(where: { bytes(of: $0) == hashOfNothing }) else { return }
        throw AttestationError(
            .malformedConfiguration,
            "contains the SHA-256 of zero bytes, which is not the pin of any key; `approov pin -get HOST` prints a server's pins",
            member: member)
    }

    /// Returns the number of different keys among the pins.
    static func distinct(_ pins: [String]) -> Int {
        Set(pins.compactMap(bytes(of:))).count
    }
}

/// Checks that a text looks like PEM certificates.
///
/// The module CertificatePinning parses them.
enum PEMText {
    static func check(_ text: String, member: String) throws(AttestationError) {
        guard text.contains("-----BEGIN CERTIFICATE-----"), text.contains("-----END CERTIFICATE-----"), !text.contains("PRIVATE KEY") else {
            throw AttestationError(.malformedMember, "must be one or more PEM certificates and nothing else", member: member)
        }
    }
}
