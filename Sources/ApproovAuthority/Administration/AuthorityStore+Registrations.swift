internal import ApproovBase
internal import Attestation
internal import GRDB

extension AuthorityStore {
    /// The executables that may get tokens, oldest first.
    public var registrations: [Registration] { snapshot.registrations }

    /// Registers an executable.
    ///
    /// One that is registered already gets the new label.
    /// - Parameters:
    ///   - measurement: its SHA-256, standard base64 (`ExecutableMeasurement.sha256(ofFileAt:)`)
    ///   - label: what to call it in lists; at most 256 characters
    /// - Throws: `AuthorityError.malformedMeasurement`
    public func addRegistration(_ measurement: String, label: String) async throws {
        let canonical = try Self.canonical(measurement)
        let label = String(label.prefix(256))
        let now = now
        try await change { database in
            try database.execute(
                sql: """
                    INSERT INTO registration (measurement, label, addedAt) VALUES (?, ?, ?)
                    ON CONFLICT (measurement) DO UPDATE SET label = excluded.label
                    """,
                arguments: [canonical, label, now])
        }
    }

    /// Removes a registration: no new token is issued to that executable.
    ///
    /// Tokens that were issued live to their `exp`.
    /// - Parameter measurement: its SHA-256, standard base64
    /// - Throws: `AuthorityError.malformedMeasurement`, `.unknownRegistration`
    public func removeRegistration(_ measurement: String) async throws {
        let canonical = try Self.canonical(measurement)
        try await change { database in
            try database.execute(sql: "DELETE FROM registration WHERE measurement = ?", arguments: [canonical])
            guard database.changesCount == 1 else {
                throw AuthorityError(
                    .unknownRegistration, "\(canonical) is not registered; see: approov registration -list")
            }
        }
    }

    private static func canonical(_ measurement: String) throws -> String {
        guard let bytes = Base64.decode(measurement), bytes.count == 32 else {
            throw AuthorityError(
                .malformedMeasurement, "a measurement is the base64 of an executable's SHA-256, 44 characters")
        }
        return Base64.encode(bytes)
    }
}
