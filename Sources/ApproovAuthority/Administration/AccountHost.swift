internal import ApproovBase
public import Attestation
internal import CertificatePinning
internal import Foundation
internal import GRDB

/// A host of the account, or a pattern of hosts.
public struct AccountHost: Sendable {
    /// The host's canonical name, or a pattern such as `*.example.com`.
    public let name: String
    /// What holds for it.
    public let settings: HostSettings
    /// When it was added, in seconds since 1970; nil where the store had no dates of hosts then.
    public let addedAt: Int64?
    let pattern: HostPattern

    /// A host as it was added, or is about to be; ``refuseWhatClientsCannotUse(at:)`` and ``refuseUselessPins()`` are for
    /// the latter.
    ///
    /// - Throws: ``AuthorityError`` with code `malformedHost`, `malformedPin`.
    init(name: String, settings: HostSettings, addedAt: Int64? = nil) throws {
        do {
            // What became a public suffix since it was added must stay readable, and be possible to remove.
            pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true)
            // Written without the flag, which travels in the settings.
            self.name = try HostPattern(name, allowingPublicSuffix: true).description
        } catch {
            throw AuthorityError(
                .malformedHost, "not a host name or pattern; write api.example.com or *.example.com", cause: error)
        }
        var settings = settings
        do {
            // What is refused by now must stay readable, so that it can be replaced.
            settings.pins = try settings.pins.map { try Pin($0, allowingHashOfNothing: true).description }
        } catch {
            throw AuthorityError(
                .malformedPin, "a pin of \(self.name) is not sha256/ and the base64 of 32 bytes; see: approov pin -get",
                cause: error)
        }
        self.settings = settings
        self.addedAt = addedAt
    }

    /// Refuses a pattern below a public suffix, and roots of which none holds at `time`.
    ///
    /// - Throws: ``AuthorityError`` with code `malformedHost`, `malformedTrustRoots`.
    func refuseWhatClientsCannotUse(at time: Date) throws {
        do {
            _ = try HostPattern(name, includeSubdomains: settings.includeSubdomains)
        } catch {
            throw AuthorityError(
                .malformedHost, "\(name) is too wide; write api.example.com or *.example.com", cause: error)
        }
        do {
            _ = try settings.trustRoots.map { try TrustAnchors(pem: $0, validAt: time) }
        } catch {
            throw AuthorityError(
                .malformedTrustRoots,
                "with the trust roots of \(name) clients would refuse every server; give roots that hold today", cause: error)
        }
    }

    /// Refuses pins that are there twice, or are the hash of no key: somebody would count on a backup that there is not.
    ///
    /// - Throws: ``AuthorityError`` with code `malformedPin`.
    func refuseUselessPins() throws {
        guard !settings.pins.isEmpty else { return }
        do {
            _ = try Pin.list(settings.pins)
        } catch {
            throw AuthorityError(
                .malformedPin, "the pins of \(name) are not those of different keys; see: approov pin -get", cause: error)
        }
    }

    static func all(in database: Database) throws -> [AccountHost] {
        try Row.fetchAll(database, sql: "SELECT name, settings, addedAt FROM host ORDER BY name").map { row in
            let text: String = row["settings"]
            let json = try JSONValue(parsing: Array(text.utf8), limit: DynamicConfiguration.maximumBytes)
            return try AccountHost(name: row["name"], settings: HostSettings(json: json), addedAt: row["addedAt"])
        }
    }

    /// Stores the host; one that is there keeps the date on which it was added.
    func save(in database: Database, at now: Int64) throws {
        try database.execute(
            sql: """
                INSERT INTO host (name, settings, addedAt) VALUES (?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET settings = excluded.settings
                """,
            arguments: [name, String(decoding: settings.json.serialized(), as: UTF8.self), now])
    }
}
