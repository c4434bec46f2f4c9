import Approov
import CertificatePinning
import Foundation
import OAuth2

func userCredentials(at login: URL, service: ApproovService, directory: URL) throws -> OAuth2Credentials {
    let server = try OAuth2Server(tokenURL: login.appending(path: "token"), authorizationURL: login.appending(path: "authorize"))
    let endpoints = try OAuth2Endpoints(client: OAuth2Client(id: "my-app", server: server), service: service)
    let store = FileTokenStore(directory: directory.appending(path: "tokens"), key: .file(directory.appending(path: "tokens.key")))
    return try OAuth2Credentials(endpoints: endpoints, store: store)
}

func logIn(_ credentials: OAuth2Credentials, show: @Sendable (URL) -> Void) async throws {
    let redirect = try LoopbackRedirect()
    let request = try AuthorizationRequest(client: credentials.endpoints.client, redirectURI: redirect.redirectURI)
    show(request.url)  // in the user's browser
    try await credentials.logIn(credentials.endpoints.issue(redirect.grant(for: request)))
}

func authorizedSession(_ credentials: OAuth2Credentials, service: ApproovService) throws -> ApproovSession {
    let interceptor = try OAuth2Interceptor(credentials, hosts: [HostPattern("api.example.com")])
    return try ApproovSession(service: service, interceptors: [interceptor], bindHeader: "Authorization")
}
