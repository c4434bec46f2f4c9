/// Knows the credential of an app's requests, and how to get another one.
///
/// ``AuthenticatedRequests`` calls it for several requests at a time. It calls ``renew(after:)`` for one refused credential once, for all
/// requests that carried it.
public protocol CredentialSource: Sendable {
    /// Returns the credential for a request that is about to be sent.
    ///
    /// - Returns: The credential; after a successful ``renew(after:)``, the new one.
    /// - Throws: Any error that prevents the request, such as ``ApproovError`` with code `credentialMissing` when no user is logged in.
    func credential() async throws -> Credential

    /// Gets and stores another credential, because a server refused this one.
    ///
    /// - Parameter refused: The credential that the server refused.
    /// - Returns: The credential that ``credential()`` returns from now on; nil if there is no other one.
    /// - Throws: Any error; the caller of the request then gets the server's refusal.
    func renew(after refused: Credential) async throws -> Credential?
}
