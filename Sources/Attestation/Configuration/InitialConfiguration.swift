import ApproovBase
public import Foundation

/// The configuration that ships with an app: its authority, the keys it trusts, and the pins that hold until the first fetch.
///
/// It contains no secrets. Replacing it makes the app trust another authority, so put it into the part of the app that is signed.
public struct InitialConfiguration: Sendable {
    /// The most bytes of the file, 1 MiB.
    ///
    /// The payload of the configuration inside is limited by ``DynamicConfiguration/maximumBytes``; base64 makes it one third longer.
    public static let maximumBytes = 1024 * 1024

    /// The account's name.
    public let account: String
    /// The generation of the account's version numbers.
    ///
    /// If it is higher than a stored configuration's epoch, the stored one is set aside.
    public let epoch: Int64
    /// The authority's https URL.
    public let authority: URL
    /// The authority's pins, at least two.
    public let authorityPins: [String]
    /// PEM certificates that replace the system's roots for the authority.
    public let trustRoots: String?
    /// The keys that may sign configurations.
    public let configKeys: [PublicJWK]
    /// The configuration in force until the first fetch; it does not expire.
    public let configuration: SignedConfiguration

    /// Makes an initial configuration and checks it like one that is read from text.
    ///
    /// - Parameters:
    ///   - account: The account's name.
    ///   - epoch: The generation of the account's version numbers.
    ///   - authority: The authority's https URL.
    ///   - authorityPins: The authority's pins, at least two.
    ///   - trustRoots: PEM certificates that replace the system's roots for the authority; nil to use the system's.
    ///   - configKeys: The keys that may sign configurations.
    ///   - configuration: The configuration in force until the first fetch.
    /// - Throws: ``AttestationError`` as when parsing text; with code `tooLarge` when the file would exceed ``maximumBytes``.
    public init(
        account: String, epoch: Int64, authority: URL, authorityPins: [String], trustRoots: String? = nil, configKeys: [PublicJWK],
        configuration: SignedConfiguration
    ) throws(AttestationError) {
        try self.init(
            json: jsonObject([
                "account": .string(account), "epoch": .integer(epoch), "authority": .string(authority.absoluteString),
                "authorityPins": .strings(authorityPins), "trustRoots": trustRoots.map(JSONValue.string),
                "configKeys": .array(configKeys.map(\.json)), "configuration": configuration.json,
            ]))
        guard serialized.count <= Self.maximumBytes else {
            throw AttestationError(
                .tooLarge,
                "the initial configuration would have \(serialized.count) bytes; at most \(Self.maximumBytes) are allowed; give fewer roots"
            )
        }
    }

    /// Parses the text of `approov-initial.config`, a JSON object; ignores unknown members.
    ///
    /// - Parameter text: The content of the file.
    /// - Throws: ``AttestationError`` naming the member that is missing or malformed; with code `malformedInitialConfiguration` when the
    ///   text is empty, the authority is not an https URL or has fewer than two pins; `malformedConfiguration` when two pins of the
    ///   authority are the same key; `tooLarge` when the text exceeds ``maximumBytes``; `unknownSigner`, `wrongAccount` or `wrongEpoch`
    ///   when no key of `configKeys` signed the configuration inside, or it is of another account or epoch.
    public init(_ text: String) throws(AttestationError) {
        try self.init(Array(text.utf8))
    }

    /// Parses the bytes of `approov-initial.config`.
    ///
    /// - Parameter bytes: The content of the file.
    /// - Throws: ``AttestationError`` as when parsing text.
    public init(_ bytes: [UInt8]) throws(AttestationError) {
        guard bytes.contains(where: { !Self.isBlank($0) }) else {
            throw AttestationError(
                .malformedInitialConfiguration, "the initial configuration is empty; write one with `approov sdk -getConfig FILE`")
        }
        try self.init(json: try JSONValue(reading: bytes, limit: Self.maximumBytes))
    }

    private init(json: JSONValue) throws(AttestationError) {
        account = try json.string("account")
        guard AccountName.isValid(account) else { throw AccountName.refusal }
        epoch = try json.integer("epoch", in: positiveSafeIntegers)
        authority = try Self.authority(try json.string("authority"))
        authorityPins = try json.elements("authorityPins") { (element) throws(AttestationError) in try PinRules.validated(element) }
        guard PinRules.distinct(authorityPins) >= 2 else {
            throw AttestationError(
                .malformedInitialConfiguration, "needs two different pins, one of them a backup", member: "authorityPins")
        }
        try PinRules.requireDifferentKeys(authorityPins, member: "authorityPins")
        trustRoots = try json.optionalString("trustRoots")
        if let trustRoots { try TrustRootRules.check(trustRoots, member: "trustRoots") }
        configKeys = try json.elements("configKeys") { (element) throws(AttestationError) in try PublicJWK(json: element) }
        try ConfigKeys.check(configKeys)
        let inner = try json.member("configuration")
        configuration = try inMember("configuration") { () throws(AttestationError) in try SignedConfiguration(json: inner) }
        _ = try ConfigurationState(initial: self)
    }

    /// The JSON text: compact, with sorted members and a final newline.
    public var serialized: [UInt8] {
        jsonObject([
            "account": .string(account), "epoch": .integer(epoch), "authority": .string(authority.absoluteString),
            "authorityPins": .strings(authorityPins), "trustRoots": trustRoots.map(JSONValue.string),
            "configKeys": .array(configKeys.map(\.json)), "configuration": configuration.json,
        ]).serialized() + [UInt8(ascii: "\n")]
    }

    /// Whether a key with a published private half may sign configurations; such a configuration is good for loopback only.
    public var usesDemoKeys: Bool {
        configKeys.contains { DemoKeys.isDemo(jwkThumbprint: $0.thumbprint) }
    }

    private static func authority(_ text: String) throws(AttestationError) -> URL {
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let url = URL(string: text), url.scheme?.lowercased() == "https",
            url.host(percentEncoded: true)?.isEmpty == false, url.user() == nil, url.password() == nil, url.query() == nil,
            url.fragment() == nil
        else {
            throw AttestationError(
                .malformedInitialConfiguration, "must be an https URL without user, query and fragment", member: "authority")
        }
        return url
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0d).contains(byte)
    }
}
