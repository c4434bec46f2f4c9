import ApproovTesting
import ApproovTokens

/// An authorization server and an API with users, on loopback.
struct UsersWorld {
    static let loginHost = "login.demo.localhost"

    let tokens: UserTokens
    let login: TestHTTPServer
    let api: AccountAPI

    /// Starts both servers; the API has the key of the demo's other API, and its pins.
    static func start(root: TestCertificate, apiKey: TestKey, verifier: TokenVerifier) async throws -> UsersWorld {
        let tokens = UserTokens()
        let api = try await AccountAPI.start(
            certificate: TestPKI.leaf(hosts: [DemoWorld.apiHost], issuer: root, key: apiKey), verifier: verifier, tokens: tokens)
        let login = try await LoginServer.start(
            certificate: TestPKI.leaf(hosts: [loginHost], issuer: root), tokens: tokens,
            holdingRefreshesUntil: api.record.crowdIsRefused)
        return UsersWorld(tokens: tokens, login: login, api: api)
    }

    func stop() async {
        await login.stop()
        await api.server.stop()
    }
}
