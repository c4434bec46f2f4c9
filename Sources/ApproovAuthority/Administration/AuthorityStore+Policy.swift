internal import Attestation
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// Changes the policy in one transaction: all settings of the change, or none.
    /// - Parameter policy: The change. Accepting the development key makes one if there is none.
    /// - Throws: ``AuthorityError`` with code `unsupported` for a reason that is not an environment flag, and so always rejects; with code
    ///   `storeUnusable`.
    package func changePolicy(_ policy: PolicyChange) async throws {
        for flag in policy.environment.keys { try Self.checkEnvironmentFlag(flag) }
        let key = policy.acceptsDevelopmentKey == true ? Data(DevelopmentKey.generate().bytes) : nil
        try await change { database in
            for (column, isOn) in policy.switches {
                try database.execute(sql: "UPDATE account SET \(column) = ?", arguments: [isOn])
            }
            if let key {
                try database.execute(sql: "UPDATE account SET developmentKey = ? WHERE developmentKey IS NULL", arguments: [key])
            }
            for (flag, action) in policy.environment {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO environmentPolicy (flag, action) VALUES (?, ?)",
                    arguments: [flag.rawValue, action.rawValue])
            }
        }
    }

    private static func checkEnvironmentFlag(_ flag: RejectionReason) throws {
        guard flag != .appNotRegistered else {
            throw AuthorityError(
                .unsupported, "an executable that is not registered is always rejected; register it: approov registration -add EXECUTABLE")
        }
        guard flag.isEnvironmentFlag else {
            throw AuthorityError(.unsupported, "\(flag) always rejects: it is not a flag of the app's environment")
        }
    }
}
