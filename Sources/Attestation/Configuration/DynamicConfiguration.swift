package import ApproovBase
import Foundation

/// Where requests to oblivious hosts go.
public struct ObliviousSettings: Sendable, Hashable {
    /// The relay's URL.
    public var relay: String
    /// Base64 of the gateway's key configurations, `application/ohttp-keys` (RFC 9458 section 3.2).
    public var keyConfig: String
    /// Whether the gateway understands messages in chunks (draft-ietf-ohai-chunked-ohttp); nil: clients find out.
    public var chunked: Bool?

    /// Settings for oblivious hosts.
    public init(relay: String, keyConfig: String, chunked: Bool? = nil) {
        self.relay = relay
        self.keyConfig = keyConfig
        self.chunked = chunked
    }

    /// Reads `relay`, `keyConfig` and `chunked`.
    ///
    /// - Throws: `AttestationError.malformedMember` for a relay that is not an https URL or keys that are not base64.
    package init(json: JSONValue) throws(AttestationError) {
        relay = try json.string("relay")
        keyConfig = try json.string("keyConfig")
        chunked = try json.optionalMember("chunked").map { (member) throws(AttestationError) in
            try within("chunked") { () throws(AttestationError) in try member.bool() }
        }
        guard let url = URL(string: relay), url.scheme?.lowercased() == "https", url.host()?.isEmpty == false else {
            throw AttestationError(.malformedMember, "must be an https URL", member: "relay")
        }
        guard let keys = Base64.decode(keyConfig), !keys.isEmpty else {
            throw AttestationError(.malformedMember, "must be base64 of application/ohttp-keys", member: "keyConfig")
        }
    }

    /// `relay`, `keyConfig` and, when it is known, `chunked`.
    package var json: JSONValue {
        var members: [String: JSONValue] = ["relay": .string(relay), "keyConfig": .string(keyConfig)]
        members["chunked"] = chunked.map(JSONValue.bool)
        return .object(members)
    }
}

/// What an account says about its hosts, in one version.
///
/// It is believed only inside a `SignedConfiguration`.
public struct DynamicConfiguration: Sendable, Hashable {
    /// The most bytes of a payload.
    public static let maximumBytes = 256 * 1024
    /// The most keys that may sign.
    public static let maximumConfigKeys = 8

    /// The account.
    public var account: String
    /// Counts fresh starts of the account's versions; 1 at first.
    public var epoch: Int64
    /// Grows with every change within an epoch; below 2^53.
    public var version: Int64
    /// When it was signed, in seconds since 1970.
    public var issuedAt: Int64
    /// When it should be replaced at the latest, in seconds since 1970.
    public var expiresAt: Int64
    /// What holds for each host.
    public var hosts: [String: HostSettings]
    /// Pins that are used where a host has none.
    public var managedTrustRoots: [String]
    /// Relay and keys; needed when a host is oblivious.
    public var oblivious: ObliviousSettings?
    /// Replaces the authority's pins of the initial configuration.
    public var authorityPins: [String]?
    /// The keys that may sign from the next version on; nil: as before.
    public var configKeys: [PublicJWK]?
    /// Members that a reader must know.
    public var critical: [String]?

    /// The members that this release knows.
    static let knownMembers: Set<String> = [
        "account", "epoch", "version", "issuedAt", "expiresAt", "hosts", "managedTrustRoots", "oblivious", "authorityPins", "configKeys",
        "critical",
    ]

    /// A configuration; its rules are checked when it is signed.
    public init(
        account: String, epoch: Int64 = 1, version: Int64, issuedAt: Int64, expiresAt: Int64, hosts: [String: HostSettings] = [:],
        managedTrustRoots: [String] = [], oblivious: ObliviousSettings? = nil, authorityPins: [String]? = nil,
        configKeys: [PublicJWK]? = nil, critical: [String]? = nil
    ) {
        self.account = account
        self.epoch = epoch
        self.version = version
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.hosts = hosts
        self.managedTrustRoots = managedTrustRoots
        self.oblivious = oblivious
        self.authorityPins = authorityPins
        self.configKeys = configKeys
        self.critical = critical
    }

    /// Reads the members and checks every rule that needs no other version; unknown members are ignored.
    ///
    /// - Throws: `AttestationError` naming the member: `.malformedMember`, `.malformedKey`, `.unknownCritical`, or
    ///   `.malformedConfiguration` for a list that names a key twice, for an enforced host with one pin, or with none where there are no
    ///   managed trust roots either.
    package init(json: JSONValue) throws(AttestationError) {
        // First, as a reader that does not know a critical member must not interpret the rest.
        critical = try json.optionalStrings("critical")
        for name in critical ?? [] where !DynamicConfiguration.knownMembers.contains(name) {
            throw AttestationError(
                .unknownCritical, "is critical and this release does not know it: update the package", member: LoggableText.name(name))
        }
        account = try json.string("account")
        epoch = try json.integer("epoch", in: positiveSafeIntegers)
        version = try json.integer("version", in: positiveSafeIntegers)
        issuedAt = try json.integer("issuedAt", in: positiveSafeIntegers)
        expiresAt = try json.integer("expiresAt", in: positiveSafeIntegers)
        hosts = [:]
        let entries = try json.member("hosts")
        for (name, settings) in try within("hosts", { () throws(AttestationError) in try entries.object() }) {
            hosts[name] = try within("hosts.\(LoggableText.name(name))") { () throws(AttestationError) in try HostSettings(json: settings) }
        }
        managedTrustRoots =
            try json.optionalElements("managedTrustRoots") { (element) throws(AttestationError) in try PinText.validated(element) } ?? []
        oblivious = try json.optionalMember("oblivious").map { (member) throws(AttestationError) in
            try within("oblivious") { () throws(AttestationError) in try ObliviousSettings(json: member) }
        }
        authorityPins = try json.optionalElements("authorityPins") { (element) throws(AttestationError) in try PinText.validated(element) }
        configKeys = try json.optionalElements("configKeys") { (element) throws(AttestationError) in try PublicJWK(json: element) }
        try checkRules()
    }

    /// All members; those without a value are left out.
    package var json: JSONValue {
        jsonObject([
            "account": .string(account), "epoch": .integer(epoch), "version": .integer(version), "issuedAt": .integer(issuedAt),
            "expiresAt": .integer(expiresAt), "hosts": .object(hosts.mapValues(\.json)), "managedTrustRoots": .strings(managedTrustRoots),
            "oblivious": oblivious?.json, "authorityPins": authorityPins.map(JSONValue.strings),
            "configKeys": configKeys.map { .array($0.map(\.json)) }, "critical": critical.map(JSONValue.strings),
        ])
    }

    private func checkRules() throws(AttestationError) {
        guard AccountName.isValid(account) else { throw AccountName.refusal }
        guard expiresAt > issuedAt else {
            throw AttestationError(.malformedConfiguration, "must be later than issuedAt", member: "expiresAt")
        }
        for (name, settings) in hosts {
            let member = "hosts.\(LoggableText.name(name))"
            guard (1...253).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw AttestationError(.malformedConfiguration, "is not a host name", member: member)
            }
            guard !settings.oblivious || oblivious != nil else {
                throw AttestationError(.malformedConfiguration, "is oblivious, but the member oblivious is missing", member: member)
            }
            try PinText.requireDifferentKeys(settings.pins, member: member + ".pins")
            guard settings.enforce else { continue }
            if settings.pins.isEmpty {
                guard !managedTrustRoots.isEmpty else {
                    throw AttestationError(
                        .malformedConfiguration, "has no pins, and there are no managedTrustRoots: give it two pins or managed roots",
                        member: member)
                }
            } else if settings.pins.count < 2 {
                throw AttestationError(
                    .malformedConfiguration, "needs two different pins, one of them a backup, or none to use managedTrustRoots",
                    member: member + ".pins")
            }
        }
        try PinText.requireDifferentKeys(managedTrustRoots, member: "managedTrustRoots")
        try PinText.requireDifferentKeys(authorityPins ?? [], member: "authorityPins")
        if let authorityPins, authorityPins.count < 2 {
            throw AttestationError(.malformedConfiguration, "needs two different pins, one of them a backup", member: "authorityPins")
        }
        if let configKeys { try ConfigKeys.check(configKeys) }
    }
}

/// Rules that initial and dynamic configuration share.
enum ConfigKeys {
    static func check(_ keys: [PublicJWK]) throws(AttestationError) {
        guard (1...DynamicConfiguration.maximumConfigKeys).contains(keys.count), Set(keys).count == keys.count else {
            throw AttestationError(
                .malformedConfiguration, "must name 1 to \(DynamicConfiguration.maximumConfigKeys) different keys", member: "configKeys")
        }
    }
}

enum AccountName {
    static func isValid(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count) && name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    static var refusal: AttestationError {
        AttestationError(.malformedMember, "must be 1 to 128 visible ASCII characters", member: "account")
    }
}
