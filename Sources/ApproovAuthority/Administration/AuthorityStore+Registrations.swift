internal import ApproovBase
internal import Attestation
internal import GRDB

extension AuthorityStore {
    /// The executables that may receive tokens, oldest first, and those whose registration has expired.
    public var registrations: [Registration] { snapshot.registrations }

    /// Registers an executable.
    ///
    /// An executable that is already registered gets the new label and expiry.
    /// - Parameters:
    ///   - measurement: The executable's SHA-256 in a form that ``canonicalMeasurement(_:)`` accepts
    ///     (`ExecutableMeasurement.sha256(ofFileAt:)`).
    ///   - label: The operator's name for it; cut after 256 characters.
    ///   - expiresAt: The moment from which it no longer counts, in seconds since 1970; nil for no end.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement`; with code `invalidConfiguration` when the expiry is not a date.
    public func addRegistration(_ measurement: String, label: String, expiresAt: Int64? = nil) async throws {
        try await addRegistrations([(measurement, label, expiresAt)])
    }

    /// Registers executables without an expiry in one transaction: all of them, or none.
    ///
    /// Executables that are already registered get the new label, lose their expiry, and keep their date.
    /// - Parameter executables: The label of each executable, and its SHA-256 in a form that ``canonicalMeasurement(_:)`` accepts.
    /// - Returns: How many executables were added, changed or unchanged.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement`.
    @discardableResult
    public func addRegistrations(_ executables: [(measurement: String, label: String)]) async throws -> BulkChange {
        try await addRegistrations(executables.map { ($0.measurement, $0.label, nil) })
    }

    /// Registers executables in one transaction: all of them, or none.
    ///
    /// Executables that are already registered get the new label and expiry, and keep their date.
    /// - Parameter executables: Each executable's SHA-256 in a form that ``canonicalMeasurement(_:)`` accepts, its label, and from when on
    ///   it no longer counts, in seconds since 1970, nil for no end.
    /// - Returns: How many executables were added, changed or unchanged.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement`; with code `invalidConfiguration` when an expiry is not a date.
    @discardableResult
    public func addRegistrations(_ executables: [(measurement: String, label: String, expiresAt: Int64?)]) async throws -> BulkChange {
        try await register(executables, keepingExpiries: false).bulk
    }

    /// Registers executables as a file names them, in one transaction: all of them, or none.
    ///
    /// Executables that are already registered get the new label, and keep their date. An expiry in the file replaces theirs. Without it,
    /// they keep an expiry that is still in the future, and lose an expiry that has passed.
    /// - Parameter executables: As for ``addRegistrations(_:)``; an expiry of nil says nothing about the expiry.
    /// - Returns: What changed.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement`; with code `invalidConfiguration` when an expiry is not a date.
    package func importRegistrations(
        _ executables: [(measurement: String, label: String, expiresAt: Int64?)]
    ) async throws -> RegistrationChange {
        try await register(executables, keepingExpiries: true)
    }

    private func register(
        _ executables: [(measurement: String, label: String, expiresAt: Int64?)], keepingExpiries: Bool
    ) async throws -> RegistrationChange {
        let executables = try executables.map {
            try ExpiryRule.check($0.expiresAt)
            return (
                measurement: try Self.canonicalMeasurement($0.measurement), label: String($0.label.prefix(256)), expiresAt: $0.expiresAt
            )
        }
        let now = now
        return try await change { database in
            var result = RegistrationChange()
            for (measurement, label, expiresAt) in executables {
                let before = try Row.fetchOne(database, sql: "SELECT * FROM registration WHERE measurement = ?", arguments: [measurement])
                    .map(Registration.init)
                let kept = keepingExpiries ? before?.expiresAt.flatMap { $0 > now ? $0 : nil } : nil
                let after = Registration(
                    measurement: measurement, label: label, addedAt: before?.addedAt ?? now,
                    expiresAt: expiresAt ?? kept)
                result.count(before, after, now: now)
                try database.execute(
                    sql: "INSERT OR REPLACE INTO registration (measurement, label, addedAt, expiresAt) VALUES (?, ?, ?, ?)",
                    arguments: [measurement, label, after.addedAt, after.expiresAt])
            }
            return result
        }
    }

    /// Removes a registration: the executable receives no more tokens.
    ///
    /// Tokens that were already issued stay valid until their `exp`.
    /// - Parameter measurement: The executable's SHA-256 in a form that ``canonicalMeasurement(_:)`` accepts.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement` or `unknownRegistration`.
    public func removeRegistration(_ measurement: String) async throws {
        let canonical = try Self.canonicalMeasurement(measurement)
        try await change { database in
            try database.execute(sql: "DELETE FROM registration WHERE measurement = ?", arguments: [canonical])
            guard database.changesCount == 1 else {
                throw AuthorityError(
                    .unknownRegistration, "\(canonical) is not registered; see: approov registration -list")
            }
        }
    }

    /// Converts a measurement to the form in the store.
    /// - Parameter text: An executable's SHA-256: standard base64, or 64 hexadecimal digits as `sha256sum` prints them.
    /// - Returns: Standard base64.
    /// - Throws: ``AuthorityError`` with code `malformedMeasurement`.
    public static func canonicalMeasurement(_ text: String) throws -> String {
        guard let bytes = hexadecimal(text) ?? Base64.decode(text), bytes.count == 32 else {
            throw AuthorityError(
                .malformedMeasurement,
                "a measurement must be an executable's SHA-256: 44 characters of base64, or 64 hexadecimal digits")
        }
        return Base64.encode(bytes)
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, text.utf8.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
