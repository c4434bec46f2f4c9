public import ApproovTokens
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The secret that signs the tokens of hosts without a keyset, for the backends that check them.
    public var accountSecret: AccountSecret { snapshot.secret }

    /// Replaces the account secret by a random one of 64 bytes.
    ///
    /// Tokens issued from now on verify with the new one only.
    /// - Throws: `AuthorityError.storeUnusable`
    public func changeAccountSecret() async throws {
        let secret = Data(AccountSecret.generate().bytes)
        try await change { database in
            try database.execute(sql: "UPDATE account SET secret = ?", arguments: [secret])
        }
    }

    /// Whether results tell the app why its evidence failed.
    public var rejectionReasons: Bool { snapshot.reportsReasons }

    /// Sets whether results tell the app why its evidence failed.
    ///
    /// Off at first: an attacker learns from them too.
    /// - Throws: `AuthorityError.storeUnusable`
    public func setRejectionReasons(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET rejectionReasons = ?", arguments: [isOn])
        }
    }

    /// What an environment flag does to the verdict.
    ///
    /// At first a debugger and `LD_PRELOAD` reject, root is annotated.
    /// - Parameter flag: one of the flags; `appNotRegistered` is none and always rejects
    /// - Returns: the action in force
    public func environmentAction(for flag: RejectionReason) -> EnvironmentAction {
        flag == .appNotRegistered ? .reject : snapshot.environmentPolicy[flag] ?? .reject
    }

    /// Sets what an environment flag does to the verdict.
    /// - Parameters:
    ///   - action: what it does
    ///   - flag: one of the flags
    /// - Throws: `AuthorityError.unsupported` for `appNotRegistered`, which always rejects
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
    /// - Parameter text: the `arc` of a token or result
    /// - Returns: what the authority thought of the device
    /// - Throws: `AuthorityError.malformedARC`
    public func decodeARC(_ text: String) throws -> ARC {
        try ARC.decode(text, key: snapshot.arcKey)
    }
}
