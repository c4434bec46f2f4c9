import ApproovBase
public import Foundation

/// What ships inside an app: where its authority is, which keys it believes, and pins for the time before the first fetch.
///
/// It holds nothing secret. An app that is given another one believes another authority, so it belongs into the signed part of an
/// app.
public struct InitialConfiguration: Sendable {
    /// The most bytes of the file, 1 MiB.
    ///
    /// The payload of the configuration inside keeps to `DynamicConfiguration.maximumBytes`; base64 makes it longer by a third.
    public static let maximumBytes = 1024 * 1024

    /// The account.
    public let account: String
    /// Counts fresh starts of the account's versions; a higher one than that of a stored configuration sets the stored one aside.
    public let epoch: Int64
    /// The authority, an https URL.
    public let authority: URL
    /// Pins of the authority, two or more.
    public let authorityPins: [String]
    /// PEM certificates that replace the system's roots for the authority.
    public let trustRoots: String?
    /// The keys that may sign configurations.
    public let configKeys: [PublicJWK]
    /// The configuration that holds before the first fetch; it does not expire.
    public let configuration: SignedConfiguration

    /// An initial configuration of its parts, checked like one that is read.
    ///
    /// - Throws: `AttestationError` as for `init(_:)`.
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
                "the initial configuration would have \(serialized.count) bytes, and may have \(Self.maximumBytes): give fewer roots")
        }
    }

    /// Reads the text of `approov-initial.config`, a JSON object; unknown members are ignored.
    ///
    /// - Throws: `AttestationError` naming the member that is missing or malformed; `.malformedInitialConfiguration` when the text is
    ///   empty, the authority is not an https URL or has fewer than two pins; `.malformedConfiguration` when a key of the authority is
    ///   pinned twice; `.tooLarge` beyond `maximumBytes`; and what `ConfigurationState` throws when the inner configuration is of another account or epoch or no key of `configKeys` signed it.
    public init(_ text: String) throws(AttestationError) {
        try self.init(Array(text.utf8))
    }

    /// Reads the bytes of `approov-initial.config`.
    ///
    /// - Throws: `AttestationError` as for a text.
    public init(_ bytes: [UInt8]) throws(AttestationError) {
        guard bytes.contains(where: { !Self.isBlank($0) }) else {
            throw AttestationError(
                .malformedInitialConfiguration, "the initial configuration is empty: export one with `approov sdk -getConfig FILE`")
        }
        try self.init(json: try JSONValue(reading: bytes, limit: Self.maximumBytes))
    }

    private init(json: JSONValue) throws(AttestationError) {
        account = try json.string("account")
        guard AccountName.isValid(account) else { throw AccountName.refusal }
        epoch = try json.integer("epoch", in: positiveSafeIntegers)
        authority = try Self.authority(try json.string("authority"))
        authorityPins = try json.elements("authorityPins") { (element) throws(AttestationError) in try PinText.validated(element) }
        guard PinText.distinct(authorityPins) >= 2 else {
            throw AttestationError(
                .malformedInitialConfiguration, "needs two different pins, one of them a backup", member: "authorityPins")
        }
        try PinText.requireDifferentKeys(authorityPins, member: "authorityPins")
        trustRoots = try json.optionalString("trustRoots")
        if let trustRoots { try PEMText.check(trustRoots, member: "trustRoots") }
        configKeys = try json.elements("configKeys") { (element) throws(AttestationError) in try PublicJWK(json: element) }
        try ConfigKeys.check(configKeys)
        let inner = try json.member("configuration")
        configuration = try within("configuration") { () throws(AttestationError) in try SignedConfiguration(json: inner) }
        _ = try ConfigurationState(initial: self)
    }

    /// The JSON text, compact with sorted members and a newline at the end.
    public var serialized: [UInt8] {
        jsonObject([
            "account": .string(account), "epoch": .integer(epoch), "authority": .string(authority.absoluteString),
            "authorityPins": .strings(authorityPins), "trustRoots": trustRoots.map(JSONValue.string),
            "configKeys": .array(configKeys.map(\.json)), "configuration": configuration.json,
        ]).serialized() + [UInt8(ascii: "\n")]
    }

    /// Whether a key whose private half lies in the open may sign for this configuration: good for loopback only.
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
