internal import ApproovBase
public import Attestation
internal import CertificatePinning
internal import Foundation
internal import GRDB

/// A host of the account, or a pattern of hosts.
public struct AccountHost: Sendable {
    /// The host's canonical name, or a pattern such as `*.example.com`.
    public let name: String
    /// The settings of the host or pattern.
    public let settings: HostSettings
    /// When the host was added, in seconds since 1970; nil if the store did not record dates then.
    public let addedAt: Int64?
    let pattern: HostPattern

    /// Creates a host that is in the store, or one that will be added.
    ///
    /// For the latter, also call ``refuseWhatClientsCannotUse(at:)`` and ``refuseUselessPins()``.
    /// - Throws: ``AuthorityError`` with code `malformedHost` or `malformedPin`.
    init(name: String, settings: HostSettings, addedAt: Int64? = nil) throws {
        do {
            // A name that has become a public suffix since it was added must stay readable, so that it can be removed.
            pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true)
            // Without `includeSubdomains` in the name: the settings hold that flag.
            self.name = try HostPattern(name, allowingPublicSuffix: true).description
        } catch {
            throw AuthorityError(
                .malformedHost, "not a host name or pattern; write api.example.com or *.example.com", cause: error)
        }
        var settings = settings
        do {
            // A pin that is refused today must stay readable, so that it can be replaced.
            settings.pins = try settings.pins.map { try Pin($0, allowingHashOfNothing: true).description }
        } catch {
            throw AuthorityError(
                .malformedPin,
                "a pin of \(self.name) is not sha256/ followed by the base64 of 32 bytes; to print pins: approov pin -get HOST|FILE",
                cause: error)
        }
        self.settings = settings
        self.addedAt = addedAt
    }

    /// Refuses a pattern directly below a public suffix (`*.co.uk`), and trust roots of which none is valid at `time`.
    ///
    /// - Throws: ``AuthorityError`` with code `malformedHost` or `malformedTrustRoots`.
    func refuseWhatClientsCannotUse(at time: Date) throws {
        do {
            _ = try HostPattern(name, includeSubdomains: settings.includeSubdomains)
        } catch {
            throw AuthorityError(
                .malformedHost, "\(name) is too wide; name your own domain, such as api.example.com or *.example.com", cause: error)
        }
        do {
            _ = try settings.trustRoots.map { try TrustAnchors(pem: $0, validAt: time) }
        } catch {
            throw AuthorityError(
                .malformedTrustRoots,
                "clients cannot use the trust roots of \(name) and would refuse every server; give roots that are valid today", cause: error
            )
        }
    }

    /// Refuses pins that occur twice or are the hash of no key: the operator would rely on a backup that does not exist.
    ///
    /// - Throws: ``AuthorityError`` with code `malformedPin`.
    func refuseUselessPins() throws {
        guard !settings.pins.isEmpty else { return }
        do {
            _ = try Pin.list(settings.pins)
        } catch {
            throw AuthorityError(
                .malformedPin, "a pin of \(name) is malformed or given twice; to print pins: approov pin -get HOST|FILE",
                cause: error)
        }
    }

    /// Reads all hosts, ordered by name.
    ///
    /// - Throws: ``AuthorityError`` with code `storeDamaged` when a host cannot be read; the database's errors.
    static func all(in database: Database) throws -> [AccountHost] {
        try Row.fetchAll(database, sql: "SELECT name, settings, addedAt FROM host ORDER BY name").map { row in
            let name: String = try row.value("name")
            let text: String = try row.value("settings")
            let addedAt: Int64? = try row.value("addedAt")
            do {
                let json = try JSONValue(reading: Array(text.utf8), limit: DynamicConfiguration.maximumBytes)
                return try AccountHost(name: name, settings: HostSettings(json: json), addedAt: addedAt)
            } catch {
                // The operator has not mistyped it: every host was checked before it was stored.
                throw AuthorityError(
                    .storeDamaged,
                    "the store's host \(LoggableText.quoted(name)) cannot be read; correct its row, or restore the store from a backup",
                    cause: error)
            }
        }
    }

    /// Stores the host; an existing host keeps the date on which it was added.
    func save(in database: Database, at now: Int64) throws {
        try database.execute(
            sql: """
                INSERT INTO host (name, settings, addedAt) VALUES (?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET settings = excluded.settings
                """,
            arguments: [name, String(decoding: settings.json.serialized(), as: UTF8.self), now])
    }
}
