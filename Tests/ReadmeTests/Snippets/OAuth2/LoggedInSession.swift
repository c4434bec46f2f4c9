import CertificatePinning
import Foundation
import OAuth2

func loggedInSession(service: ApproovService, client: OAuth2Client, tokens: URL, keyFile: URL) async throws -> ApproovSession {
    let endpoints = try OAuth2Endpoints(client: client, service: service)
    let credentials = try OAuth2Credentials(endpoints: endpoints, store: FileTokenStore(directory: tokens, key: .file(keyFile)))
    let redirect = try LoopbackRedirect()
    let request = try AuthorizationRequest(client: client, redirectURI: redirect.redirectURI)
    print("Open this page in a browser:", request.url)
    try await credentials.logIn(endpoints.issue(redirect.grant(for: request)))
    return try ApproovSession(
        service: service, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.example.com")])],
        bindHeader: "Authorization")
}
