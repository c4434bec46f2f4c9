internal import GRDB

/// An executable that may receive tokens.
public struct Registration: Sendable, Hashable {
    /// The executable's SHA-256, standard base64.
    public let measurement: String
    /// The operator's name for it.
    public let label: String
    /// When it was registered, in seconds since 1970.
    public let addedAt: Int64

    static func all(in database: Database) throws -> [Registration] {
        let rows = try Row.fetchAll(
            database, sql: "SELECT measurement, label, addedAt FROM registration ORDER BY addedAt, label, measurement")
        return rows.map { row in
            Registration(measurement: row["measurement"], label: row["label"], addedAt: row["addedAt"])
        }
    }
}
