internal import ApproovTokens
internal import GRDB

/// A key pair that signs the tokens of the hosts that name it, or custom JWTs.
public struct Keyset: Sendable {
    /// The key identifier in the tokens' header.
    public let kid: String
    /// `RS256` or `ES256`.
    public let algorithm: String
    /// What it signs.
    public let use: KeysetUse
    /// When it was added, in seconds since 1970; later than the date of every keyset that existed then.
    public let addedAt: Int64
    let key: SigningKey

    /// The public key as SubjectPublicKeyInfo PEM, for verifiers that cannot fetch the authority's key list.
    public var publicPEM: String { key.verificationKey.publicPEM ?? "" }

    init(kid: String, algorithm: String, use: String, pem: String, addedAt: Int64) throws {
        guard let use = KeysetUse(rawValue: use) else {
            throw AuthorityError(.storeDamaged, "this release does not know the use of keyset \(kid); use a newer release")
        }
        self.use = use
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
        try Row.fetchAll(database, sql: "SELECT kid, algorithm, use, pem, addedAt FROM keyset ORDER BY addedAt, kid").map { row in
            try Keyset(
                kid: row.value("kid"), algorithm: row.value("algorithm"), use: row.value("use"), pem: row.value("pem"),
                addedAt: row.value("addedAt"))
        }
    }

    /// The keyset that signs custom JWTs: the newest one for that use.
    static func forCustomTokens(in keysets: [Keyset]) -> Keyset? { keysets.last { $0.use == .custom } }
}
