public import Attestation
internal import GRDB

extension AuthorityStore {
    /// Adds hosts, or replaces their settings, in one transaction: all of them, or none.
    ///
    /// It signs one configuration. If every host already exists with these settings, nothing is signed and nothing changes.
    /// - Parameter entries: Names and settings as for ``addHost(_:settings:)``; each name once.
    /// - Returns: How many entries were added, changed or unchanged.
    /// - Throws: The errors of ``addHost(_:settings:)``; ``AuthorityError`` with code `malformedHost` when a name occurs twice. If one
    ///   entry is at fault, the message begins with its number, from 1.
    @discardableResult
    public func importHosts(_ entries: [(name: String, settings: HostSettings)]) async throws -> BulkChange {
        var numbers: [String: Int] = [:]
        let hosts = try entries.enumerated().map { index, entry in
            try Self.naming(entry: index + 1) {
                let host = try newHost(entry.name, settings: entry.settings)
                if let first = numbers.updateValue(index + 1, forKey: host.name) {
                    throw AuthorityError(
                        .malformedHost, "entry \(first) already names \(host.name); name each host once")
                }
                return host
            }
        }
        let (now, lifetime) = (now, configurationLifetime)
        return try await change { database in
            let before = Dictionary(try AccountHost.all(in: database).map { ($0.name, $0.settings) }) { first, _ in first }
            var result = BulkChange()
            for (index, host) in hosts.enumerated() {
                result.count(before[host.name], host.settings)
                guard before[host.name] != host.settings else { continue }
                try Self.naming(entry: index + 1) { try Self.checkNew(host, in: database) }
                try host.save(in: database, at: now)
            }
            if result.added + result.changed > 0 { try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime) }
            return result
        }
    }

    /// Puts the entry's number before the message of any error of `body`.
    private static func naming<Value>(entry number: Int, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as AuthorityError {
            throw AuthorityError(error.code, "entry \(number): \(error.message)", cause: error.cause)
        }
    }
}
