package import ApproovBase
import Crypto

/// What holds for one host of the account.
public struct HostSettings: Sendable, Hashable {
    /// Pins, `sha256/` and the base64 of the SHA-256 of a SubjectPublicKeyInfo.
    ///
    /// Empty: the managed trust roots are used.
    public var pins: [String]
    /// Whether the pins are enforced; when false, path validation alone decides.
    public var enforce: Bool
    /// Whether requests to the host carry a token.
    public var attested: Bool
    /// Whether requests to the host travel inside Oblivious HTTP.
    public var oblivious: Bool
    /// Whether the host's subdomains are meant as well.
    public var includeSubdomains: Bool
    /// When the pins are due for a change, in seconds since 1970.
    ///
    /// It is reported; it never unpins.
    public var pinsExpireAt: Int64?
    /// PEM certificates that replace the system's roots for this host.
    public var trustRoots: String?
    /// The key that signs this host's tokens; nil: the account secret.
    public var kid: String?

    /// Settings; by default enforced and attested.
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

    /// Reads the members; unknown ones are ignored.
    ///
    /// - Throws: `AttestationError` naming the member that is missing or malformed.
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

    /// All members; those without a value are left out.
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

/// The spelling of pins.
///
/// What they pin is CertificatePinning's business.
enum PinText {
    static let prefix = "sha256/"
    private static let hashOfNothing = [UInt8](SHA256.hash(data: [UInt8]()))

    /// The element's text, when it is a pin.
    static func validated(_ element: JSONValue) throws(AttestationError) -> String {
        let text = try element.string()
        guard bytes(of: text) != nil else {
            throw AttestationError(
                .malformedMember, "is not a pin: write sha256/ and the padded base64 of 32 bytes (`approov pin -get HOST` prints it)")
        }
        return text
    }

    /// The hash that the pin holds.
    static func bytes(of text: String) -> [UInt8]? {
        let encoded = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        guard let bytes = Base64.decode(encoded), bytes.count == 32 else { return nil }
        return bytes
    }

    /// Refuses what would pass for a backup and is none: a key that is named twice, in either spelling, and the hash of no bytes, which
    /// a pipe into `openssl dgst` prints when the command before failed.
    static func requireDifferentKeys(_ pins: [String], member: String) throws(AttestationError) {
        guard distinct(pins) == pins.count else {
            throw AttestationError(
                .malformedConfiguration, "names a key twice: remove the second entry, or put a backup key's pin in its place",
                member: member)
        }
        guard pins.contains(where: { bytes(of: $0) == hashOfNothing }) else { return }
        throw AttestationError(
            .malformedConfiguration,
            "names the SHA-256 of no bytes, which is no key's pin (`approov pin -get HOST` prints those of a server)",
            member: member)
    }

    /// How many different keys the pins name.
    static func distinct(_ pins: [String]) -> Int {
        Set(pins.compactMap(bytes(of:))).count
    }
}

/// The outer look of PEM certificates.
///
/// Whether they parse is CertificatePinning's business.
enum PEMText {
    static func check(_ text: String, member: String) throws(AttestationError) {
        guard text.contains("-----BEGIN CERTIFICATE-----"), text.contains("-----END CERTIFICATE-----"), !text.contains("PRIVATE KEY") else {
            throw AttestationError(.malformedMember, "must be one or more PEM certificates and nothing else", member: member)
        }
    }
}
