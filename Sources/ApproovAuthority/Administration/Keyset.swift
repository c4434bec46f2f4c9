internal import ApproovTokens
internal import GRDB

/// A key pair that signs the tokens of the hosts that name it.
public struct Keyset: Sendable {
    /// The key identifier in the tokens' header.
    public let kid: String
    /// `RS256` or `ES256`.
    public let algorithm: String
    /// When it was added, in seconds since 1970.
    public let addedAt: Int64
    let key: SigningKey

    init(kid: String, algorithm: String, pem: String, addedAt: Int64) throws {
        self.kid = kid
        self.algorithm = algorithm
        self.addedAt = addedAt
        switch TokenAlgorithm(rawValue: algorithm) {
        case .rs256: key = try SigningKey.rs256(pem: pem, kid: kid)
        case .es256: key = try SigningKey.es256(pem: pem, kid: kid)
        default:
            throw AuthorityError(
                .storeDamaged, "this release does not know the algorithm \(algorithm) of keyset \(kid); use a newer release")
        }
    }

    static func all(in database: Database) throws -> [Keyset] {
        try Row.fetchAll(database, sql: "SELECT kid, algorithm, pem, addedAt FROM keyset ORDER BY addedAt, kid").map { row in
            try Keyset(kid: row["kid"], algorithm: row["algorithm"], pem: row["pem"], addedAt: row["addedAt"])
        }
    }
}
