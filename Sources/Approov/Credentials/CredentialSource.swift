/// Provides the credential for an app's requests, and renews it when a server refuses it.
///
/// ``AuthenticatedRequests`` calls it for several requests at a time. It calls ``renew(after:)`` once for all requests that carried a refused
/// credential, and again at a later refusal if the call failed, found no other credential or took too long. Both methods must return soon
/// after the task is cancelled: a request waits for ``credential()``.
public protocol CredentialSource: Sendable {
    /// Tells sessions when another user logs in or the user logs out; nil, the default, if the source does not report that.
    ///
    /// With it, a change of the user wipes the sessions that use the source. Without it, call ``ApproovSession/wipe(_:)`` when the user
    /// changes: a request that waits, for example at a gate, would otherwise be sent with the next user's credential.
    var userChanges: UserChanges? { get }

    /// Returns the credential for a request that is about to be sent.
    ///
    /// - Returns: The credential; after a successful ``renew(after:)``, the new one. Its ``Credential/owner`` names the user.
    /// - Throws: Any error that prevents the request, such as ``ApproovError`` with code `credentialMissing` when no user is logged in.
    func credential() async throws -> Credential

    /// Gets and stores another credential of the same user, because a server refused this one.
    ///
    /// - Parameter refused: The credential that the server refused.
    /// - Returns: The credential that ``credential()`` returns from now on; nil if there is no other one.
    /// - Throws: Any error; the caller of the request then gets the server's refusal.
    func renew(after refused: Credential) async throws -> Credential?
}

extension CredentialSource {
    /// By default, nil: the source does not report changes of the user.
    public var userChanges: UserChanges? { nil }
}

/// A source that often knows the credential without waiting.
package protocol ImmediateCredentialSource: CredentialSource {
    /// Returns what ``CredentialSource/credential()`` returns.
    ///
    /// - Returns: The credential; nil if the caller must wait for ``CredentialSource/credential()``.
    /// - Throws: What ``CredentialSource/credential()`` throws.
    func credentialAtOnce() throws -> Credential?
}
