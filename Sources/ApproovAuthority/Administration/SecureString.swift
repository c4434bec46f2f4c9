internal import GRDB

/// A predefined secure string, without its value.
public struct SecureString: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The name by which apps look it up.
    public let key: String
    /// When its value was last set, in seconds since 1970.
    public let changedAt: Int64
    /// The secret, which only results after genuine evidence contain.
    let value: String

    /// The key.
    public var description: String { "SecureString(\(key))" }

    /// An empty mirror, so that `dump` does not show the value.
    public var customMirror: Mirror { Mirror(self, children: []) }

    static func all(in database: Database) throws -> [SecureString] {
        try Row.fetchAll(database, sql: "SELECT key, value, changedAt FROM secureString ORDER BY key").map { row in
            try SecureString(key: row.value("key"), changedAt: row.value("changedAt"), value: row.value("value"))
        }
    }
}
