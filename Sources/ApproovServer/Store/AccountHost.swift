public import Attestation
internal import CertificatePinning
internal import GRDB

/// A host of the account, or a pattern of hosts.
public struct AccountHost: Sendable {
    /// The host's canonical name, or a pattern such as `*.example.com`.
    public let name: String
    /// What holds for it.
    public let settings: HostSettings
    let pattern: HostPattern

    init(name: String, settings: HostSettings) throws {
        do {
            pattern = try HostPattern(name, includeSubdomains: settings.includeSubdomains)
            // Written without the flag, which travels in the settings.
            self.name = try HostPattern(name).description
        } catch {
            throw ServerError(
                code: .malformedHost, message: "not a host name or pattern; write api.example.com or *.example.com", cause: error)
        }
        var settings = settings
        do {
            settings.pins = try settings.pins.map { try Pin($0).description }
        } catch {
            throw ServerError(
                code: .malformedPin, message: "a pin of \(self.name) is not sha256/ and the base64 of 32 bytes; see: approov pin -get",
                cause: error)
        }
        self.settings = settings
    }

    static func all(in database: Database) throws -> [AccountHost] {
        try Row.fetchAll(database, sql: "SELECT name, settings FROM host ORDER BY name").map { row in
            let text: String = row["settings"]
            let json = try JSONValue(parsing: Array(text.utf8), limit: DynamicConfiguration.maximumBytes)
            return try AccountHost(name: row["name"], settings: HostSettings(json: json))
        }
    }

    func save(in database: Database) throws {
        try database.execute(
            sql: "INSERT INTO host (name, settings) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET settings = excluded.settings",
            arguments: [name, String(decoding: settings.json.serialized(), as: UTF8.self)])
    }
}
