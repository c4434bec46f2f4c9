/// Whom a request is authorized for, a user or the app itself, and by what: a Bearer token or the client's secret.
public struct Authorization: Hashable, Sendable {
    /// How a request proves its authorization.
    public enum Kind: String, Hashable, Sendable {
        /// A Bearer token (RFC 6750).
        case bearer
        /// The client's identifier and secret (RFC 7617).
        case basic
    }

    /// Who is authorized.
    public enum Level: String, Hashable, Sendable {
        /// A user who logged in.
        case user
        /// The app itself.
        case client
    }

    /// How a request proves its authorization.
    public let type: Kind
    /// Who is authorized.
    public let level: Level

    /// Describes an authorization.
    ///
    /// - Parameters:
    ///   - type: How a request proves its authorization.
    ///   - level: Who is authorized.
    public init(type: Kind = .bearer, level: Level) {
        self.type = type
        self.level = level
    }
}
