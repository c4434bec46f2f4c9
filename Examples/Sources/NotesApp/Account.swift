import Approov
import Foundation
import OAuth2

/// The user's log-in, which outlives the app's process.
struct Account: Sendable {
    let endpoints: OAuth2Endpoints
    let credentials: OAuth2Credentials

    /// Describes the API's authorization server.
    /// - Parameters:
    ///   - api: The API's URL.
    ///   - service: The source of tokens and pins: the endpoints are attested, too.
    ///   - stateDirectory: Where the encrypted token and its key are kept.
    ///   - clock: The clock.
    /// - Throws: `OAuth2Error` or `ApproovError` when the settings cannot be used.
    init(api: URL, service: ApproovService, stateDirectory: URL, clock: any TimeSource = SystemTimeSource()) throws {
        let server = try OAuth2Server(
            tokenURL: api.appending(path: "token"), authorizationURL: api.appending(path: "authorize"),
            revocationURL: api.appending(path: "revoke"))
        // An app that every user can take apart has no secret: PKCE protects its log-in.
        endpoints = try OAuth2Endpoints(client: OAuth2Client(id: "notes-app", server: server), service: service, clock: clock)
        credentials = try OAuth2Credentials(
            endpoints: endpoints,
            store: FileTokenStore(
                directory: stateDirectory.appending(path: "login"), key: .file(stateDirectory.appending(path: "login.key"))))
    }

    /// Lets the user log in with a browser, which returns to this machine (RFC 8252).
    /// - Parameter open: Shows a page in the user's browser.
    /// - Throws: `OAuth2Error` when the user refuses, does not answer within five minutes, or the server refuses.
    func logIn(opening open: @Sendable (URL) async throws -> Void) async throws {
        let redirect = try LoopbackRedirect()
        let request = try AuthorizationRequest(client: endpoints.client, redirectURI: redirect.redirectURI)
        async let grant = redirect.grant(for: request)
        try await open(request.url)
        try await credentials.logIn(endpoints.issue(grant))
    }
}
