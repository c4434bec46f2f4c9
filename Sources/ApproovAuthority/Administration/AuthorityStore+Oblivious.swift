internal import ApproovBase
public import Attestation
internal import GRDB
internal import HTTPClient
internal import OHTTP

extension AuthorityStore {
    /// The relay and the gateway's keys for oblivious hosts; nil if there is no relay.
    public var obliviousSettings: ObliviousSettings? { snapshot.oblivious }

    /// Sets the relay and the gateway's keys for oblivious hosts, and signs a new configuration.
    ///
    /// Clients seal to the first of these keys whose mechanism they support, and to no other key. The holder of that key can read the
    /// requests.
    /// - Parameter settings: The relay's https URL, and key configurations of which at least one is usable; a single key configuration is
    ///   also accepted without the length that precedes it in a list.
    /// - Throws: ``AuthorityError`` with code `malformedOblivious`; with code `configurationRefused` when clients would refuse the result.
    public func setOblivious(_ settings: ObliviousSettings) async throws {
        let settings = try Self.validated(settings)
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
                    "\(host.name) is oblivious and needs the relay; first let its requests go direct: "
                        + "approov api -pins \(host.name) -noOblivious"
                )
            }
            try database.execute(sql: "DELETE FROM oblivious")
        }
    }

    static func obliviousSettings(in database: Database) throws -> ObliviousSettings? {
        try Row.fetchOne(database, sql: "SELECT relay, keyConfig, chunked FROM oblivious").map {
            ObliviousSettings(relay: $0["relay"], keyConfig: $0["keyConfig"], chunked: $0["chunked"])
        }
    }

    private static func validated(_ settings: ObliviousSettings) throws -> ObliviousSettings {
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
            let list =
                try (try? KeyConfiguration(decoding: bytes)).map { KeyConfigurationList([$0]) } ?? KeyConfigurationList(decoding: bytes)
            _ = try list.preferred()
            if (try? KeyConfigurationList(decoding: bytes)) == nil { settings.keyConfig = Base64.encode(list.encoded()) }
        } catch {
            throw AuthorityError(
                .malformedOblivious,
                "the key configurations are malformed, or this release supports none of them; fetch them from the gateway's /ohttp-keys",
                cause: error)
        }
        return settings
    }
}
