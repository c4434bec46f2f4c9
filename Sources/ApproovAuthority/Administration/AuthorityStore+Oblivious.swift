internal import ApproovBase
public import Attestation
internal import GRDB
internal import HTTPClient

extension AuthorityStore {
    /// The relay and the gateway's keys for oblivious hosts; nil if there is no relay.
    public var obliviousSettings: ObliviousSettings? { snapshot.oblivious }

    /// Sets the relay and the gateway's keys for oblivious hosts, and signs a new configuration.
    ///
    /// Clients seal to the first of these keys whose mechanism they support, and to no other key. The holder of that key can read the
    /// requests.
    /// The authority does not know OHTTP, so the caller checks the keys. The check of this package is
    /// `KeyConfigurationList.checked(published:)` in the module OHTTP.
    /// - Parameters:
    ///   - settings: The relay's https URL, and the gateway's key configurations.
    ///   - check: Takes the bytes of the key configurations, and returns them as the list of RFC 9458, section 3.2. It throws when no
    ///     client could use them; then nothing changes.
    /// - Throws: ``AuthorityError`` with code `malformedOblivious`; with code `configurationRefused` when clients would refuse the result.
    public func setOblivious(_ settings: ObliviousSettings, checkedBy check: ([UInt8]) throws -> [UInt8]) async throws {
        let settings = try Self.checkOblivious(settings, checkedBy: check)
        try await change(issues: true) { database in
            try database.execute(
                sql: """
                    INSERT INTO oblivious (id, relay, keyConfig, chunked) VALUES (1, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE
                    SET relay = excluded.relay, keyConfig = excluded.keyConfig, chunked = excluded.chunked
                    """,
                arguments: [settings.relay, settings.keyConfig, settings.chunked])
        }
    }

    /// Removes the relay and the keys, and signs a new configuration.
    /// - Throws: ``AuthorityError`` with code `obliviousInUse` while a host is oblivious.
    public func removeOblivious() async throws {
        try await change(issues: true) { database in
            if let host = try AccountHost.all(in: database).first(where: \.settings.oblivious) {
                throw AuthorityError(
                    .obliviousInUse,
                    "\(host.name) is oblivious and needs the relay; first let its requests go directly: "
                        + "approov api -pins \(host.name) -noOblivious"
                )
            }
            try database.execute(sql: "DELETE FROM oblivious")
        }
    }

    static func obliviousSettings(in database: Database) throws -> ObliviousSettings? {
        try Row.fetchOne(database, sql: "SELECT relay, keyConfig, chunked FROM oblivious").map {
            try ObliviousSettings(relay: $0.value("relay"), keyConfig: $0.value("keyConfig"), chunked: $0.value("chunked"))
        }
    }

    /// Makes the checks of ``setOblivious(_:checkedBy:)`` that do not need the store, so that a mistake makes none.
    /// - Returns: The settings in the form in which they are stored.
    /// - Throws: ``AuthorityError`` with code `malformedOblivious`.
    @discardableResult
    package static func checkOblivious(
        _ settings: ObliviousSettings, checkedBy check: ([UInt8]) throws -> [UInt8]
    ) throws -> ObliviousSettings {
        var settings = settings
        do {
            let relay = try TransportURL(settings.relay)
            guard relay.isSecure else { throw TransportError(.invalidURL, "it must begin with https://") }
            settings.relay = relay.text
        } catch {
            throw AuthorityError(
                .malformedOblivious, "the relay is not an https URL such as https://relay.example.com/", cause: error)
        }
        guard let bytes = Base64.decode(settings.keyConfig) else {
            throw AuthorityError(.malformedOblivious, "the key configurations are not the base64 of application/ohttp-keys")
        }
        do {
            let list = try check(bytes)
            guard !list.isEmpty else {
                throw AuthorityError(.malformedOblivious, "the check of the key configurations returned an empty list")
            }
            settings.keyConfig = Base64.encode(list)
        } catch {
            throw AuthorityError(
                .malformedOblivious,
                "the key configurations are malformed, or this release supports none of them; fetch them from the gateway's /ohttp-keys",
                cause: error)
        }
        return settings
    }
}
