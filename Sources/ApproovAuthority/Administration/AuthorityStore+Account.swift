public import ApproovTokens
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The secret that signs the tokens of hosts without a keyset, for the backends that check them.
    ///
    /// After a change with an overlap this is the new one, which signs from the end of the overlap on.
    public var accountSecret: AccountSecret { snapshot.secret }

    /// The secret that a change with an overlap replaced, and until when tokens are signed with it; nil when there is none.
    ///
    /// Backends need both until the last token of this one has expired. The next change forgets it.
    public var previousSecret: (secret: AccountSecret, signsUntil: Date)? {
        snapshot.secrets.previous.map { ($0.secret, Date(timeIntervalSince1970: TimeInterval($0.signsUntil))) }
    }

    /// Whether tokens are still signed with the previous secret.
    public var isSecretOverlapping: Bool { snapshot.secrets.overlapping(at: now) != nil }

    /// Replaces the account secret by a random one of 64 bytes.
    ///
    /// Until the overlap is over, tokens are signed with the old secret, so that backends can be given the new one beside it first. Without
    /// an overlap, tokens issued from now on verify with the new one only, and the old one is forgotten.
    /// - Parameter overlap: How long the old secret goes on signing, in whole seconds; 0 to 30 days.
    /// - Throws: ``AuthorityError`` with code `secretOverlapRunning` when the last change still overlaps and this one is to overlap as
    ///   well; `invalidConfiguration` for another overlap; `storeUnusable`.
    public func changeAccountSecret(overlap: Duration = .zero) async throws {
        let secret = AccountSecret.generate()
        let (now, overlap) = (now, overlap.components.seconds)
        try await change { database in
            guard let account = try Row.fetchOne(database, sql: "SELECT secret, previousSecret, previousSecretUntil FROM account") else {
                throw AuthorityError(.storeDamaged, "the store has no account; restore it from a backup")
            }
            try AccountSecrets(account).replaced(by: secret, overlap: overlap, at: now).save(in: database)
        }
    }

    /// Whether results tell the app why its evidence failed.
    public var rejectionReasons: Bool { snapshot.reportsReasons }

    /// Sets whether results tell the app why its evidence failed.
    ///
    /// Off at first: an attacker learns from them too.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setRejectionReasons(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET rejectionReasons = ?", arguments: [isOn])
        }
    }

    /// Whether tokens name the host that they are for (`aud`, RFC 7519, section 4.1.3).
    public var namesAudience: Bool { snapshot.namesAudience }

    /// Sets whether tokens name the host that they are for.
    ///
    /// On at first. Off is for backends that refuse every audience which they were not given, as PyJWT does. A token without `aud` is
    /// valid at every host whose backend has the same key, and a `TokenVerifier` that is given an audience refuses it.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setNamesAudience(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET audience = ?", arguments: [isOn])
        }
    }

    /// What an environment flag does to the verdict.
    ///
    /// At first a debugger and `LD_PRELOAD` reject, root is annotated.
    /// - Parameter flag: One of the flags; `appNotRegistered` is none and always rejects.
    /// - Returns: The action in force.
    public func environmentAction(for flag: RejectionReason) -> EnvironmentAction {
        flag == .appNotRegistered ? .reject : snapshot.environmentPolicy[flag] ?? .reject
    }

    /// Sets what an environment flag does to the verdict.
    /// - Parameters:
    ///   - action: What it does.
    ///   - flag: One of the flags.
    /// - Throws: ``AuthorityError`` with code `unsupported` for `appNotRegistered`, which always rejects.
    public func setEnvironmentAction(_ action: EnvironmentAction, for flag: RejectionReason) async throws {
        guard flag != .appNotRegistered else {
            throw AuthorityError(.unsupported, "an executable that is not registered is always rejected; register it instead")
        }
        try await change { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO environmentPolicy (flag, action) VALUES (?, ?)", arguments: [flag.rawValue, action.rawValue])
        }
    }

    /// Reads an attestation response code of this account.
    /// - Parameter text: The `arc` of a token or result.
    /// - Returns: What the authority thought of the device.
    /// - Throws: ``AuthorityError`` with code `malformedARC`.
    public func decodeARC(_ text: String) throws -> ARC {
        try ARC.decode(text, key: snapshot.arcKey)
    }
}
