package import ApproovBase
import Foundation

/// One version of an account's settings for its hosts.
///
/// Trust it only if it comes from a verified ``SignedConfiguration``.
public struct DynamicConfiguration: Sendable, Hashable {
    /// The most bytes of a payload.
    public static let maximumBytes = 256 * 1024
    /// The most keys that may sign configurations.
    public static let maximumConfigKeys = 8

    /// The account's name.
    public var account: String
    /// The generation of the version numbers, 1 at first; a higher epoch restarts them.
    public var epoch: Int64
    /// The version number, which grows with every change within an epoch; below 2^53.
    public var version: Int64
    /// When the version was signed, in seconds since 1970.
    public var issuedAt: Int64
    /// When the version expires, in seconds since 1970; a newer one should replace it before.
    public var expiresAt: Int64
    /// The host rules, by host name or pattern.
    public var hosts: [String: HostSettings]
    /// The pins for hosts that have none themselves.
    public var managedTrustRoots: [String]
    /// The relay and the gateway's keys; required if any host is oblivious.
    public var oblivious: ObliviousSettings?
    /// Pins that replace the authority's pins in the initial configuration; nil to keep those.
    public var authorityPins: [String]?
    /// The keys that may sign from the next version on; nil to keep the present ones.
    public var configKeys: [PublicJWK]?
    /// The names of members that a reader must understand.
    public var critical: [String]?

    /// The members that this release understands.
    static let knownMembers: Set<String> = [
        "account", "epoch", "version", "issuedAt", "expiresAt", "hosts", "managedTrustRoots", "oblivious", "authorityPins", "configKeys",
        "critical",
    ]

    /// Makes a configuration; its rules are checked when it is signed.
    ///
    /// - Parameters:
    ///   - account: The account's name.
    ///   - epoch: The generation of the version numbers.
    ///   - version: The version number; below 2^53.
    ///   - issuedAt: When the version is signed, in seconds since 1970.
    ///   - expiresAt: When the version expires, in seconds since 1970.
    ///   - hosts: The host rules, by host name or pattern.
    ///   - managedTrustRoots: The pins for hosts that have none themselves.
    ///   - oblivious: The relay and the gateway's keys; required if any host is oblivious.
    ///   - authorityPins: Pins that replace the authority's pins in the initial configuration; nil to keep those.
    ///   - configKeys: The keys that may sign from the next version on; nil to keep the present ones.
    ///   - critical: The names of members that a reader must understand.
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

    /// Reads the members and checks every rule that concerns only this version; ignores unknown members.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` naming the member, with code `malformedMember`, `malformedKey` or `unknownCritical`; with code
    ///   `malformedConfiguration` when a list names a key twice, an enforced host has only one pin, an enforced host has no pins and there
    ///   are no managed trust roots, or another rule is broken.
    package init(json: JSONValue) throws(AttestationError) {
        // Check this first: a reader that does not know a critical member must not interpret the others.
        critical = try json.optionalStrings("critical")
        for name in critical ?? [] where !DynamicConfiguration.knownMembers.contains(name) {
            throw AttestationError(
                .unknownCritical, "is critical, and this release does not know it; use a newer release", member: LoggableText.name(name))
        }
        account = try json.string("account")
        epoch = try json.integer("epoch", in: positiveSafeIntegers)
        version = try json.integer("version", in: positiveSafeIntegers)
        issuedAt = try json.integer("issuedAt", in: positiveSafeIntegers)
        expiresAt = try json.integer("expiresAt", in: positiveSafeIntegers)
        hosts = [:]
        let entries = try json.member("hosts")
        for (name, settings) in try inMember("hosts", { () throws(AttestationError) in try entries.object() }) {
            hosts[name] = try inMember("hosts.\(LoggableText.name(name))") { () throws(AttestationError) in try HostSettings(json: settings)
            }
        }
        managedTrustRoots =
            try json.optionalElements("managedTrustRoots") { (element) throws(AttestationError) in try PinRules.validated(element) } ?? []
        oblivious = try json.optionalMember("oblivious").map { (member) throws(AttestationError) in
            try inMember("oblivious") { () throws(AttestationError) in try ObliviousSettings(json: member) }
        }
        authorityPins = try json.optionalElements("authorityPins") { (element) throws(AttestationError) in try PinRules.validated(element) }
        configKeys = try json.optionalElements("configKeys") { (element) throws(AttestationError) in try PublicJWK(json: element) }
        try checkRules()
    }

    /// All members that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject([
            "account": .string(account), "epoch": .integer(epoch), "version": .integer(version), "issuedAt": .integer(issuedAt),
            "expiresAt": .integer(expiresAt), "hosts": .object(hosts.mapValues(\.json)), "managedTrustRoots": .strings(managedTrustRoots),
            "oblivious": oblivious?.json, "authorityPins": authorityPins.map(JSONValue.strings),
            "configKeys": configKeys.map { .array($0.map(\.json)) }, "critical": critical.map(JSONValue.strings),
        ])
    }

    /// The pins that are in force, as a JSON object for a program that pins by itself.
    ///
    /// Each member is a host name or pattern, with the base64 of the SHA-256 of every key that it may have, sorted. The list of a host without
    /// its own pins is empty, and the list of `*`, the managed trust roots, counts for it. Hosts whose pins are not enforced are absent.
    public var pinsJSON: String {
        func list(_ pins: [String]) -> JSONValue { .strings(pins.map(PinText.base64).sorted()) }
        var members = hosts.filter(\.value.enforce).mapValues { list($0.pins) }
        if !managedTrustRoots.isEmpty { members["*"] = list(managedTrustRoots) }
        return String(decoding: JSONValue.object(members).serialized(), as: UTF8.self)
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
            try PinRules.requireDifferentKeys(settings.pins, member: member + ".pins")
            guard settings.enforce else { continue }
            if settings.pins.isEmpty {
                guard !managedTrustRoots.isEmpty else {
                    throw AttestationError(
                        .malformedConfiguration,
                        "has no pins, and managedTrustRoots is empty; give the host two pins, or set managedTrustRoots",
                        member: member)
                }
            } else if settings.pins.count < 2 {
                throw AttestationError(
                    .malformedConfiguration, "needs two different pins, one of them a backup; or no pins, to use managedTrustRoots",
                    member: member + ".pins")
            }
        }
        try PinRules.requireDifferentKeys(managedTrustRoots, member: "managedTrustRoots")
        try PinRules.requireDifferentKeys(authorityPins ?? [], member: "authorityPins")
        if let authorityPins, authorityPins.count < 2 {
            throw AttestationError(.malformedConfiguration, "needs two different pins, one of them a backup", member: "authorityPins")
        }
        if let configKeys { try ConfigKeys.check(configKeys) }
    }
}
