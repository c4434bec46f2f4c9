public import Attestation
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// The key that lets developers' builds pass; nil until the first one is made.
    ///
    /// It has no effect unless ``acceptsDevelopmentKey`` is on.
    public var developmentKey: DevelopmentKey? { snapshot.developmentKey }

    /// Replaces the development key by a random one, so that builds with the old one are rejected.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func changeDevelopmentKey() async throws {
        let key = Data(DevelopmentKey.generate().bytes)
        try await change { database in
            try database.execute(sql: "UPDATE account SET developmentKey = ?", arguments: [key])
        }
    }

    /// Whether evidence that proves the development key passes, whatever its executable and environment.
    public var acceptsDevelopmentKey: Bool { snapshot.acceptsDevelopmentKey }

    /// Sets whether evidence that proves the development key passes, whatever its executable and environment.
    ///
    /// Off by default. Its tokens' `anno` has `dev-key`, so that a production API can refuse them. Turning it on makes a key if there is
    /// none.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setAcceptsDevelopmentKey(_ isOn: Bool) async throws {
        try await changePolicy(PolicyChange(acceptsDevelopmentKey: isOn))
    }
}
