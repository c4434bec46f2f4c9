public import ApproovTokens
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The secret that signs the tokens of hosts without a keyset, for the backends that check them.
    public var accountSecret: AccountSecret { snapshot.secret }

    /// Replaces the account secret by a random one of 64 bytes.
    ///
    /// Tokens issued from now on verify with the new one only.
    /// - Throws: `ServerError.storeUnusable`
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
    /// - Throws: `ServerError.storeUnusable`
    public func setRejectionReasons(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET rejectionReasons = ?", arguments: [isOn])
        }
    }

    /// Whether tokens name the host that they are for (`aud`, RFC 7519 section 4.1.3).
    public var namesAudience: Bool { snapshot.namesAudience }

    /// Sets whether tokens name the host that they are for.
    ///
    /// On at first. Off is for backends that refuse every audience which they were not given, as PyJWT does. A token without `aud` is
    /// valid at every host whose backend has the same key, and a `TokenVerifier` that is given an audience refuses it.
    /// - Throws: `ServerError.storeUnusable`
    public func setNamesAudience(_ isOn: Bool) async throws {
        try await change { database in
            try database.execute(sql: "UPDATE account SET audience = ?", arguments: [isOn])
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
    /// - Throws: `ServerError.unsupported` for `appNotRegistered`, which always rejects
    public func setEnvironmentAction(_ action: EnvironmentAction, for flag: RejectionReason) async throws {
        guard flag != .appNotRegistered else {
            throw ServerError(code: .unsupported, message: "an executable that is not registered is always rejected; register it instead")
        }
        try await change { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO environmentPolicy (flag, action) VALUES (?, ?)", arguments: [flag.rawValue, action.rawValue])
        }
    }

    /// Reads an attestation response code of this account.
    /// - Parameter text: the `arc` of a token or result
    /// - Returns: what the authority thought of the device
    /// - Throws: `ServerError.malformedARC`
    public func decodeARC(_ text: String) throws -> ARC {
        try ARC.decode(text, key: snapshot.arcKey)
    }
}
