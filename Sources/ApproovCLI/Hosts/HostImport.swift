import ApproovBase
import ApproovAuthority
import Attestation
import CertificatePinning
import Foundation

/// The hosts in a file for `approov api -import`, in the format that `api -list --json` prints.
struct HostImport {
    /// 4 MiB: far more than fits into a configuration, which holds 256 KiB.
    private static let maximumBytes = 4 << 20
    /// The known members; any other is refused, so that a misspelt setting is not silently ignored.
    private static let members: Set<String> = [
        "host", "pins", "enforce", "attested", "oblivious", "includeSubdomains", "pinsExpireAt", "kid", "trustRoots", "addedAt",
    ]

    let entries: [(name: String, settings: HostSettings)]

    /// Reads a file, or standard input for `-`.
    /// - Throws: `CommandFailure` that names the file and the entry, including when the file has no entries.
    init(file: String) throws {
        let bytes = try Files.input(file, limit: Self.maximumBytes, what: "the hosts")
        do {
            entries = try bytes.allSatisfy { Character(Unicode.Scalar($0)).isWhitespace } ? [] : Self.hosts(json: bytes)
        } catch let error as AttestationError {
            throw CommandFailure(
                "\(Files.inputName(file)) does not have the format of `approov api -list --json`: \(error)")
        }
        guard !entries.isEmpty else {
            throw CommandFailure(
                "\(Files.inputName(file)) has no entries; it must be a JSON array of hosts, as `approov api -list --json` prints it")
        }
    }

    private static func hosts(json bytes: [UInt8]) throws -> [(name: String, settings: HostSettings)] {
        try JSONValue(reading: bytes, limit: Self.maximumBytes).array().enumerated().map { index, entry in
            do {
                return try host(entry)
            } catch let error as CommandFailure {
                throw CommandFailure("entry \(index + 1): \(error.message ?? "")")
            } catch {
                throw CommandFailure("entry \(index + 1): \(error)")
            }
        }
    }

    private static func host(_ entry: JSONValue) throws -> (name: String, settings: HostSettings) {
        var members = try entry.object()
        for name in members.keys.sorted() where !Self.members.contains(name) {
            let meant = Spelling.nearest(to: name, in: Self.members).map { "; did you mean \($0)?" } ?? ""
            throw CommandFailure("the member \"\(name)\" is unknown\(meant)")
        }
        if let text = try entry.optionalString("pinsExpireAt") {
            guard let date = RFC3339.date(text), date.timeIntervalSince1970 >= 1 else {
                throw CommandFailure("pinsExpireAt must be a time in RFC 3339, for example 2027-01-31T12:00:00Z")
            }
            members["pinsExpireAt"] = .integer(Int64(date.timeIntervalSince1970))
        }
        return (try entry.string("host"), try HostSettings(json: .object(members)))
    }
}
