import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The last part of station 2: adds the session's credential to requests to its hosts.
struct CredentialStation: Sendable {
    private let credential: SessionCredential
    private let name: HTTPField.Name
    private let unboundRequests: UnboundRequests

    /// Reads the session's configuration; returns nil when it has no credential.
    ///
    /// - Throws: ``ApproovError`` with code `initializationError` when no host is named, or the name of the header is malformed.
    init?(_ configuration: ApproovSessionConfiguration) throws {
        guard let credential = configuration.credential else { return nil }
        self.credential = credential
        name = try SessionCredential.name(credential.headerName)
        _ = try SessionCredential.checked(credential.hosts)
        unboundRequests = configuration.unboundRequests
    }

    /// The name of the header in lower case.
    var headerName: String { name.canonicalName }

    /// Adds the credential to a request to one of its hosts.
    ///
    /// A redirect to another origin gets none, because the URL came from a server.
    ///
    /// - Parameters:
    ///   - draft: The request; on return, with the credential.
    ///   - step: The caller's own request, or the one that follows a redirect.
    ///   - flight: The user's request to which it belongs.
    /// - Throws: ``ApproovError`` with code `credentialMissing` when no user is logged in, and `credentialRefused` for plain http;
    ///   `CancellationError` when the user has changed since the request was begun, or `credentialMissing` if that wipes nothing.
    func apply(to draft: inout RequestDraft, of step: RedirectStep, _ flight: RequestFlight?) throws {
        guard !step.hasLeftOrigin, credential.isMeant(for: step.url.host) else { return }
        guard step.url.isSecure else {
            throw ApproovError(
                .credentialRefused, "\(step.url.host) would get the credential over plain http, where others can read it: use https")
        }
        let snapshot = credential.holder.snapshot
        guard !credential.wipesOnChange || snapshot.generation == flight?.generation else { throw CancellationError() }
        let hasOwn = draft.fields.contains { $0.name == name }
        let isExempt = snapshot.value == nil || hasOwn ? unboundRequests.allow(step.wholeRequest) : false
        // A login call may carry another credential in the same header.
        if hasOwn, isExempt { return }
        guard let value = snapshot.value else {
            guard !isExempt else { return }
            throw ApproovError(
                .credentialMissing,
                "no user is logged in, and \(step.url.host) needs a credential: give the holder one, or exempt the request with"
                    + " unboundRequests")
        }
        guard snapshot.generation == flight?.generation else {
            throw ApproovError(
                .credentialMissing,
                "the user changed before the request was sent, and it must not carry the next user's credential: make it again")
        }
        if hasOwn {
            // Made for another user, perhaps.
            draft.request.removeHeaders { HTTPField.Name($0) == name }
            draft.fields.removeAll { $0.name == name }
        }
        draft.fields.append(HTTPField(name: name, value: value))
    }
}
