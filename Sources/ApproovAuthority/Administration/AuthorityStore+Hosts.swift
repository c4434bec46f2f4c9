public import Attestation
internal import CertificatePinning
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The account's hosts, ordered by name.
    public var hosts: [AccountHost] { snapshot.hosts }

    /// The pins (`sha256/…`) that apply to hosts without pins.
    public var managedTrustRoots: [String] { snapshot.managedTrustRoots }

    /// The account's entry for a host: the most specific name or pattern that matches.
    /// - Parameter host: A host name or address in any spelling.
    /// - Returns: The entry; nil if none matches.
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
    ///   - settings: The settings, with two pins or more; with none if managed trust roots are set.
    /// - Throws: ``AuthorityError`` with code `malformedHost` when the name is malformed or too wide; `malformedPin`; `malformedTrustRoots`
    ///   when none of the roots is valid today; `pinsRequired` when an enforced host has no pins and no managed trust roots are set;
    ///   `obliviousUnset` when an oblivious host has no relay; `unknownKeyset`; `configurationRefused` when clients would refuse the
    ///   result, for example a single pin of an enforced host.
    public func addHost(_ name: String, settings: HostSettings) async throws {
        let host = try newHost(name, settings: settings)
        let now = now
        try await change(issues: true) { database in
            try Self.checkNew(host, in: database)
            try host.save(in: database, at: now)
        }
    }

    /// Creates a host that will be added, with all checks that do not need the store.
    func newHost(_ name: String, settings: HostSettings) throws -> AccountHost {
        try Self.newHost(name, settings: settings, at: time.date)
    }

    private static func newHost(_ name: String, settings: HostSettings, at date: Date) throws -> AccountHost {
        let host = try AccountHost(name: name, settings: settings)
        try host.refuseWhatClientsCannotUse(at: date)
        try host.refuseUselessPins()
        return host
    }

    /// Makes the checks of ``addHost(_:settings:)`` that do not need the store, so that a mistake makes none.
    /// - Throws: ``AuthorityError`` with code `malformedHost`, `malformedPin` or `malformedTrustRoots`.
    package static func checkNewHost(_ name: String, settings: HostSettings) throws {
        _ = try newHost(name, settings: settings, at: Date())
    }

    /// Checks a new host against the rest of the account.
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
    /// - Throws: ``AuthorityError`` with code `unknownHost` or `malformedHost`.
    public func removeHost(_ name: String) async throws {
        let canonical = try AccountHost(name: name, settings: HostSettings()).name
        try await change(issues: true) { database in
            try database.execute(sql: "DELETE FROM host WHERE name = ?", arguments: [canonical])
            guard database.changesCount == 1 else { throw Self.unknownHost(canonical) }
        }
    }

    /// Replaces the pins of a host, and signs a new configuration.
    /// - Parameters:
    ///   - pins: The pins (`sha256/…`), at least two.
    ///   - name: The name or pattern as it was added.
    /// - Throws: ``AuthorityError`` with code `unknownHost`; `malformedPin`, also for a repeated pin; `configurationRefused` when clients
    ///   would refuse the result, for example a single pin of an enforced host.
    public func setPins(_ pins: [String], forHost name: String) async throws {
        try await updateHost(name) { $0.pins = pins }
    }

    /// Changes some of a host's settings, and signs a new configuration.
    ///
    /// The change receives the current settings, even if other processes change them too. Use it to add pins, or to turn off enforcement
    /// for a host whose server has a key that no app knows.
    /// - Parameters:
    ///   - name: The name or pattern as it was added.
    ///   - edit: The change; called once, inside the store's transaction.
    /// - Throws: ``AuthorityError`` with code `unknownHost`, `malformedPin`, `unknownKeyset` or `obliviousUnset`; `configurationRefused`
    ///   when clients would refuse the result; `malformedHost` or `malformedTrustRoots` as ``addHost(_:settings:)`` does, for settings that
    ///   `edit` changes; any error of `edit`. The host is then unchanged.
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
            // Pins must be changeable even if the roots have expired, or the name has become a public suffix, since the host was added.
            if (settings.includeSubdomains, settings.trustRoots) != (before.includeSubdomains, before.trustRoots) {
                try host.refuseWhatClientsCannotUse(at: now)
            }
            if settings.pins != before.pins { try host.refuseUselessPins() }
            if settings.pins.count == 1, settings.enforce { throw Self.tooFewPins(.configurationRefused, canonical) }
            try host.save(in: database, at: Int64(now.timeIntervalSince1970))
        }
    }

    /// Replaces the pins that apply to hosts without pins, and signs a new configuration.
    /// - Parameter pins: The pins (`sha256/…`).
    /// - Throws: ``AuthorityError`` with code `malformedPin`; with code `configurationRefused` when a host would have no pin at all.
    public func setManagedTrustRoots(_ pins: [String]) async throws {
        let pins = try pins.map(Self.managedTrustRoot)
        try await updateManagedTrustRoots { $0 = pins }
    }

    /// Changes the pins that apply to hosts without pins, and signs a new configuration.
    ///
    /// The change receives the current pins, even if other processes change them too. Use it to add or remove some of them.
    /// - Parameter edit: The change; called once, inside the store's transaction.
    /// - Throws: ``AuthorityError`` with code `malformedPin` for a pin that `edit` adds; with code `configurationRefused` when a host would
    ///   have no pin at all; any error of `edit`. The pins are then unchanged.
    public func updateManagedTrustRoots(_ edit: @escaping @Sendable (inout [String]) throws -> Void) async throws {
        try await change(issues: true) { database in
            let before = try String.fetchAll(database, sql: "SELECT pin FROM managedTrustRoot ORDER BY pin")
            var pins = before
            try edit(&pins)
            // A pin that is refused today must not keep the others from being changed.
            let canonical = try pins.map { try before.contains($0) ? $0 : Self.managedTrustRoot($0) }
            try database.execute(sql: "DELETE FROM managedTrustRoot")
            for pin in canonical {
                try database.execute(sql: "INSERT OR IGNORE INTO managedTrustRoot (pin) VALUES (?)", arguments: [pin])
            }
        }
    }

    /// The canonical text of a pin that will be a managed trust root.
    private static func managedTrustRoot(_ pin: String) throws -> String {
        do {
            return try Pin(pin).description
        } catch {
            throw AuthorityError(
                .malformedPin,
                "a managed trust root is not sha256/ followed by the base64 of 32 bytes; to print pins: approov pin -get FILE", cause: error
            )
        }
    }

    private static func checkKeyset(of settings: HostSettings, in database: Database) throws {
        guard let kid = settings.kid else { return }
        switch try String.fetchOne(database, sql: "SELECT use FROM keyset WHERE kid = ?", arguments: [kid]) {
        case KeysetUse.token.rawValue:
            return
        case nil:
            throw AuthorityError(.unknownKeyset, "the account has no keyset \(kid); add it: approov keyset -add ES256 -kid \(kid)")
        default:
            throw AuthorityError(
                .wrongKeysetUse,
                "keyset \(kid) signs custom JWTs, not the tokens of hosts; add one for tokens: approov keyset -add ES256 -kid KID")
        }
    }

    private static func checkRelay(of host: AccountHost, in database: Database) throws {
        guard host.settings.oblivious, try Self.obliviousSettings(in: database) == nil else { return }
        throw AuthorityError(
            .obliviousUnset,
            "\(host.name) cannot be oblivious without a relay; set the relay first: "
                + "approov oblivious -set -relay URL -keyConfig FILE|URL")
    }

    private static func tooFewPins(_ code: AuthorityError.Code, _ host: String) -> AuthorityError {
        AuthorityError(
            code,
            "\(host) needs managed trust roots or two pins: that of its server's key (approov pin -get \(host)) and that of a backup key "
                + "(openssl ecparam -name prime256v1 -genkey -noout -out backup.key; then -pinFrom backup.key), which you keep elsewhere")
    }

    private static func unknownHost(_ name: String) -> AuthorityError {
        AuthorityError(.unknownHost, "the account has no host \(name); see: approov api -list")
    }
}
