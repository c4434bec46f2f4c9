internal import ApproovTokens
internal import Attestation
internal import CertificatePinning
internal import Crypto
internal import Foundation
internal import GRDB

/// All data that requests are served from, read in one transaction and immutable.
///
/// It is a class, so that passing it to a request costs one reference.
final class StoreSnapshot: Sendable {
    let generation: Int64
    let account: String
    let epoch: Int64
    let secrets: AccountSecrets
    let configurationKey: P256.Signing.PrivateKey
    let challenges: ChallengeMint
    let arcKey: SymmetricKey
    let reportsReasons: Bool
    let claimPolicy: ClaimPolicy
    /// Whether the proof of the development key lets unregistered builds pass.
    let acceptsDevelopmentKey: Bool
    /// Nil until the first one is made.
    let developmentKey: DevelopmentKey?
    let environmentPolicy: [RejectionReason: EnvironmentAction]
    /// Ordered by name.
    let hosts: [AccountHost]
    let hostMap: HostMap<AccountHost>
    let managedTrustRoots: [String]
    let oblivious: ObliviousSettings?
    let registrations: [Registration]
    /// The end of each registration by its measurement, in seconds since 1970; `Int64.max` for no end.
    let registrationEnds: [String: Int64]
    let devices: [AccountDevice]
    let devicesByID: [DeviceID: AccountDevice]
    let keysets: [Keyset]
    let messageSigningKeys: MessageSigningKeys
    let secureStrings: [SecureString]
    let secureStringValues: [String: String]
    /// Whether apps may request custom JWTs.
    let allowsCustomTokens: Bool
    /// Ascending by version; the newest is last.
    let configurations: [IssuedConfiguration]
    /// The hash of the newest configuration's payload.
    private let newestHash: String?
    let issuer: TokenIssuer

    init(_ database: Database) throws {
        guard let account = try Row.fetchOne(database, sql: "SELECT * FROM account") else {
            throw AuthorityError(.storeDamaged, "the store has no account; restore it from a backup")
        }
        generation = try account.value("generation")
        self.account = try account.value("name")
        epoch = try account.safeInteger("epoch")
        reportsReasons = try account.value("rejectionReasons")
        claimPolicy = try ClaimPolicy(account)
        acceptsDevelopmentKey = try account.value("acceptsDevelopmentKey")
        let challengeKey = try Self.key("challengeKey", size: ChallengeMint.keySize, of: account)
        challenges = try ChallengeMint(key: challengeKey, account: account.value("name"))
        arcKey = try Self.key("arcKey", size: ARC.keySize, of: account)
        do {
            secrets = try AccountSecrets(account)
            developmentKey = try (account.value("developmentKey") as Data?).map { try DevelopmentKey(bytes: [UInt8]($0)) }
            configurationKey = try P256.Signing.PrivateKey(rawRepresentation: account.value("configurationKey") as Data)
            environmentPolicy = try Self.readEnvironmentPolicy(database)
            hosts = try AccountHost.all(in: database)
            hostMap = try HostMap(hosts.map { ($0.pattern, $0) })
            managedTrustRoots = try String.fetchAll(database, sql: "SELECT pin FROM managedTrustRoot ORDER BY pin")
            oblivious = try AuthorityStore.obliviousSettings(in: database)
            registrations = try Registration.all(in: database)
            devices = try AccountDevice.all(in: database)
            keysets = try Keyset.all(in: database)
            messageSigningKeys = try MessageSigningKeys(account)
            secureStrings = try SecureString.all(in: database)
            allowsCustomTokens = try account.value("customTokens")
            configurations = try IssuedConfiguration.all(in: database)
            newestHash = configurations.last?.signed.payloadHash
            issuer = try TokenIssuer(
                secrets: secrets, keysets: keysets.filter { $0.use == .token }, claimPolicy: claimPolicy,
                customKeyset: allowsCustomTokens ? Keyset.forCustomTokens(in: keysets) : nil)
        } catch let error as AuthorityError {
            throw error
        } catch {
            throw AuthorityError(
                .storeDamaged,
                "the store's content cannot be read; restore it from a backup; if it was just restored, stop the authority, remove the files "
                    + "-wal and -shm beside the database, and restore it again",
                // The error of a row contains the row.
                cause: error is RowDecodingError ? nil : error)
        }
        secureStringValues = secureStrings.reduce(into: [:]) { $0[$1.key] = $1.value }
        registrationEnds = registrations.reduce(into: [:]) { $0[$1.measurement] = $1.expiresAt ?? .max }
        devicesByID = devices.reduce(into: [:]) { $0[$1.deviceID] = $1 }
    }

    /// The account secret; after a change this is the new one at once.
    var secret: AccountSecret { secrets.current }

    /// The entry of a host, if it gets tokens.
    func attestedHost(_ host: CanonicalHost) -> AccountHost? {
        hostMap.value(for: host).flatMap { $0.settings.attested ? $0 : nil }
    }

    /// The policy of a device; nil if it has none, or one that has expired.
    func policy(of deviceID: DeviceID, at now: Int64) -> DevicePolicy? {
        devicesByID[deviceID].flatMap { $0.isExpired(at: now) ? nil : $0.policy }
    }

    /// The newest configuration.
    var newest: IssuedConfiguration? { configurations.last }

    /// Whether a client's configuration was not issued by this store: its version is later than the newest, or the same with other content.
    /// - Parameters:
    ///   - version: The version that the client states.
    ///   - hash: The hash of the payload that the client states; nil if it states none.
    /// - Returns: Whether the client's configuration is unknown here.
    func lacks(version: Int64, hash: String?) -> Bool {
        guard let newest else { return false }
        return version > newest.version || version == newest.version && hash.map { $0 != newestHash } ?? false
    }

    /// The configurations that a client with `version` needs: those that change the keys, and the newest.
    ///
    /// A client whose configuration this store did not issue receives the newest: it refuses that one, and reports that the authority is
    /// behind.
    func configurations(since version: Int64, hash: String?) -> [SignedConfiguration] {
        guard let newest else { return [] }
        guard !lacks(version: version, hash: hash) else { return [newest.signed] }
        return configurations.filter { $0.version > version && ($0.changesKeys || $0.version == newest.version) }.map(\.signed)
    }

    private static func key(_ column: String, size: Int, of account: Row) throws -> SymmetricKey {
        let bytes: Data = try account.value(column)
        guard bytes.count == size else {
            throw AuthorityError(.storeDamaged, "the account's \(column) does not have \(size) bytes; restore the store from a backup")
        }
        return SymmetricKey(data: bytes)
    }

    private static func readEnvironmentPolicy(_ database: Database) throws -> [RejectionReason: EnvironmentAction] {
        let rows = try Row.fetchAll(database, sql: "SELECT flag, action FROM environmentPolicy")
        return try rows.reduce(into: [:]) { policy, row in
            guard let flag = try RejectionReason(rawValue: row.value("flag")),
                let action = try EnvironmentAction(rawValue: row.value("action"))
            else {
                throw AuthorityError(
                    .storeDamaged, "this release does not know a flag or action of the store's environment policy; use a newer release")
            }
            policy[flag] = action
        }
    }
}
