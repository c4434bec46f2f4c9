public import ApproovTokens
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The secret that signs the tokens of hosts without a keyset, for the backends that check those tokens.
    ///
    /// After a change with an overlap this is the new secret, which signs from the end of the overlap on.
    public var accountSecret: AccountSecret { snapshot.secret }

    /// The secret that a change with an overlap replaced, and until when it signs tokens; nil if there is none.
    ///
    /// Backends need both secrets until the last token signed with this one has expired. The next change of the secret forgets it.
    public var previousSecret: (secret: AccountSecret, signsUntil: Date)? {
        snapshot.secrets.previous.map { ($0.secret, Date(timeIntervalSince1970: TimeInterval($0.signsUntil))) }
    }

    /// Whether tokens are still signed with the previous secret.
    public var isSecretOverlapping: Bool { snapshot.secrets.overlapping(at: now) != nil }

    /// Replaces the account secret by a random one of 64 bytes.
    ///
    /// During the overlap, the old secret signs, so that backends can first be given the new one in addition. Without an overlap, new
    /// tokens verify with the new secret only, and the old one is forgotten.
    /// - Parameter overlap: How long the old secret still signs, in whole seconds; 0 to 30 days.
    /// - Throws: ``AuthorityError`` with code `secretOverlapRunning` when the last change still overlaps and this one has an overlap too;
    ///   with code `invalidConfiguration` when the overlap is out of range; with code `storeUnusable`.
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

    /// The URL under which apps reach the authority, as it was last served; nil before it was served.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` or `storeDamaged`.
    package func publicURL() async throws -> URL? { try await endpoint()?.url }

    /// Whether results tell the app why its evidence was rejected.
    public var rejectionReasons: Bool { snapshot.reportsReasons }

    /// Sets whether results tell the app why its evidence was rejected.
    ///
    /// Off by default, because the reasons help an attacker too.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func setRejectionReasons(_ isOn: Bool) async throws { try await changePolicy(PolicyChange(rejectionReasons: isOn)) }

    /// The effect of an environment flag on the verdict.
    ///
    /// By default root is annotated. All other flags reject: a debugger, `LD_PRELOAD`, and a process that could not check for them.
    /// - Parameter flag: The flag; every other reason always rejects.
    /// - Returns: The current action.
    public func environmentAction(for flag: RejectionReason) -> EnvironmentAction {
        flag.isEnvironmentFlag ? snapshot.environmentPolicy[flag] ?? .reject : .reject
    }

    /// Sets the effect of an environment flag on the verdict.
    /// - Parameters:
    ///   - action: The action.
    ///   - flag: The flag.
    /// - Throws: ``AuthorityError`` with code `unsupported` for a reason that is not a flag, and so always rejects; with code `storeUnusable`.
    public func setEnvironmentAction(_ action: EnvironmentAction, for flag: RejectionReason) async throws {
        try await changePolicy(PolicyChange(environment: [flag: action]))
    }

    /// Decodes an attestation response code of this account.
    /// - Parameter text: The `arc` of a token or result.
    /// - Returns: The decoded code.
    /// - Throws: ``AuthorityError`` with code `malformedARC` when the text is not a code of this account.
    public func decodeARC(_ text: String) throws -> ARC {
        try ARC.decode(text, key: snapshot.arcKey)
    }
}
