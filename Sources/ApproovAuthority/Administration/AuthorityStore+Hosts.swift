public import Attestation
internal import CertificatePinning
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The account's hosts, by name.
    public var hosts: [AccountHost] { snapshot.hosts }

    /// The pins that hosts without pins of their own are held to, `sha256/…`.
    public var managedTrustRoots: [String] { snapshot.managedTrustRoots }

    /// The settings that hold for a host, by the most specific name or pattern of the account.
    /// - Parameter host: A host name or address in any spelling.
    /// - Returns: The entry, nil when the account does not know the host.
    /// - Throws: ``AuthorityError`` with code `malformedHost`.
    public func host(for host: String) throws -> AccountHost? {
        do {
            return try snapshot.hostMap.value(for: CanonicalHost(host))
        } catch {
            throw AuthorityError(.malformedHost, "not a host name; write api.example.com", cause: error)
        }
    }

    /// Adds a host or replaces its settings, and signs a new configuration.
    /// - Parameters:
    ///   - name: A host name, an address, or a pattern such as `*.example.com`.
    ///   - settings: Two pins or more; none when managed trust roots are set.
    /// - Throws: ``AuthorityError`` with code `malformedHost`, also for a pattern below a public suffix, `malformedPin`,
    ///   `malformedTrustRoots` for roots of which none holds today, `pinsRequired` (enforced, no pins, no managed trust roots),
    ///   `obliviousUnset` for an oblivious host without a relay, `unknownKeyset`, `configurationRefused` when clients would refuse the
    ///   result.
    public func addHost(_ name: String, settings: HostSettings) async throws {
        let host = try newHost(name, settings: settings)
        let now = now
        try await change(issues: true) { database in
            try Self.checkNew(host, in: database)
            try host.save(in: database, at: now)
        }
    }

    /// A host that is to be added, as far as it can be judged without the store.
    func newHost(_ name: String, settings: HostSettings) throws -> AccountHost {
        let host = try AccountHost(name: name, settings: settings)
        try host.refuseWhatClientsCannotUse(at: time.date)
        try host.refuseUselessPins()
        return host
    }

    /// Refuses a new host that the rest of the account does not go with.
    static func checkNew(_ host: AccountHost, in database: Database) throws {
        let settings = host.settings
        try checkRelay(of: host, in: database)
        if settings.pins.isEmpty, settings.enforce {
            guard try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM managedTrustRoot)") == true else {
                throw tooFewPins(.pinsRequired, host.name)
            }
        }
        if settings.pins.count == 1, settings.enforce { throw tooFewPins(.configurationRefused, host.name) }
        try checkKeyset(of: settings, in: database)
    }

    /// Removes a host, and signs a new configuration.
    ///
    /// No more tokens are issued for it.
    /// - Parameter name: The name or pattern as it was added.
    /// - Throws: ``AuthorityError`` with code `unknownHost`.
    public func removeHost(_ name: String) async throws {
        let canonical = try AccountHost(name: name, settings: HostSettings()).name
        try await change(issues: true) { database in
            try database.execute(sql: "DELETE FROM host WHERE name = ?", arguments: [canonical])
            guard database.changesCount == 1 else { throw Self.unknownHost(canonical) }
        }
    }

    /// Replaces the pins of a host, and signs a new configuration.
    /// - Parameters:
    ///   - pins: `sha256/…` each, two or more.
    ///   - name: The name or pattern as it was added.
    /// - Throws: ``AuthorityError`` with code `unknownHost`, `malformedPin`, `configurationRefused` for fewer than two distinct pins.
    public func setPins(_ pins: [String], forHost name: String) async throws {
        try await updateHost(name) { $0.pins = pins }
    }

    /// Changes some of a host's settings, and signs a new configuration.
    ///
    /// The change sees the settings as they are then, whoever else changes them: it is how pins are added and how enforcement is
    /// switched off for a host whose server's key no app knows.
    /// - Parameters:
    ///   - name: The name or pattern as it was added.
    ///   - edit: The change; called once, inside the store's transaction.
    /// - Throws: ``AuthorityError`` with code `unknownHost`, `malformedPin`, `unknownKeyset`, `obliviousUnset`, `configurationRefused` when
    ///   clients would refuse the result, `malformedHost` and `malformedTrustRoots` as ``addHost(_:settings:)`` does for what the change
    ///   makes of them, and what the change throws; then nothing changed.
    public func updateHost(_ name: String, _ edit: @escaping @Sendable (inout HostSettings) throws -> Void) async throws {
        let canonical = try AccountHost(name: name, settings: HostSettings()).name
        let now = time.date
        try await change(issues: true) { database in
            guard let before = try AccountHost.all(in: database).first(where: { $0.name == canonical })?.settings else {
                throw Self.unknownHost(canonical)
            }
            var settings = before
            try edit(&settings)
            try Self.checkKeyset(of: settings, in: database)
            let host = try AccountHost(name: canonical, settings: settings)
            try Self.checkRelay(of: host, in: database)
            // Pins must be changeable also where roots ran out, or a name became a public suffix, after the host was added.
            if (settings.includeSubdomains, settings.trustRoots) != (before.includeSubdomains, before.trustRoots) {
                try host.refuseWhatClientsCannotUse(at: now)
            }
            if settings.pins != before.pins { try host.refuseUselessPins() }
            if settings.pins.count == 1, settings.enforce { throw Self.tooFewPins(.configurationRefused, canonical) }
            try host.save(in: database, at: Int64(now.timeIntervalSince1970))
        }
    }

    /// Replaces the pins that hosts without pins of their own are held to, and signs a new configuration.
    /// - Parameter pins: `sha256/…` each.
    /// - Throws: ``AuthorityError`` with code `malformedPin`, `configurationRefused` when a host would be left without any pin.
    public func setManagedTrustRoots(_ pins: [String]) async throws {
        let canonical: [String]
        do {
            canonical = try pins.map { try Pin($0).description }
        } catch {
            throw AuthorityError(.malformedPin, "a managed trust root is not sha256/ and the base64 of 32 bytes", cause: error)
        }
        try await change(issues: true) { database in
            try database.execute(sql: "DELETE FROM managedTrustRoot")
            for pin in canonical {
                try database.execute(sql: "INSERT OR IGNORE INTO managedTrustRoot (pin) VALUES (?)", arguments: [pin])
            }
        }
    }

    private static func checkKeyset(of settings: HostSettings, in database: Database) throws {
        guard let kid = settings.kid, try String.fetchOne(database, sql: "SELECT kid FROM keyset WHERE kid = ?", arguments: [kid]) == nil
        else { return }
        throw AuthorityError(.unknownKeyset, "there is no keyset \(kid); add it: approov keyset -add ES256 -kid \(kid)")
    }

    private static func checkRelay(of host: AccountHost, in database: Database) throws {
        guard host.settings.oblivious, try Self.obliviousSettings(in: database) == nil else { return }
        throw AuthorityError(
            .obliviousUnset,
            "\(host.name) cannot be oblivious without a relay; name it first: "
                + "approov oblivious -set -relay URL -keyConfig FILE|URL")
    }

    private static func tooFewPins(_ code: AuthorityError.Code, _ host: String) -> AuthorityError {
        AuthorityError(
            code,
            "\(host) needs two pins, its server's (approov pin -get \(host)) and that of a backup key kept elsewhere (make one: "
                + "openssl ecparam -name prime256v1 -genkey -noout -out backup.key; then -pinFrom backup.key), or managed trust roots")
    }

    private static func unknownHost(_ name: String) -> AuthorityError {
        AuthorityError(.unknownHost, "the account has no host \(name); see: approov api -list")
    }
}
