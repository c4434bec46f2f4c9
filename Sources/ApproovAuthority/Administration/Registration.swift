internal import GRDB

/// An executable that may receive tokens.
public struct Registration: Sendable, Hashable {
    /// The executable's SHA-256, standard base64.
    public let measurement: String
    /// The operator's name for it.
    public let label: String
    /// When it was registered, in seconds since 1970.
    public let addedAt: Int64
    /// The moment from which it no longer counts, in seconds since 1970; nil for no end.
    public let expiresAt: Int64?

    /// Whether it no longer counts.
    /// - Parameter moment: Seconds since 1970.
    /// - Returns: True from the second of the expiry.
    public func isExpired(at moment: Int64) -> Bool { expiresAt.map { $0 <= moment } ?? false }

    init(measurement: String, label: String, addedAt: Int64, expiresAt: Int64?) {
        self.measurement = measurement
        self.label = label
        self.addedAt = addedAt
        self.expiresAt = expiresAt
    }

    /// Reads a row.
    init(_ row: Row) throws {
        try self.init(
            measurement: row.value("measurement"), label: row.value("label"), addedAt: row.value("addedAt"),
            expiresAt: row.value("expiresAt"))
    }

    static func all(in database: Database) throws -> [Registration] {
        try Row.fetchAll(database, sql: "SELECT * FROM registration ORDER BY addedAt, label, measurement").map(Registration.init)
    }
}
