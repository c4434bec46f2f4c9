import Approov
import Synchronization

/// One user's tokens in the app, for `AuthenticatedRequests`.
final class UserCredentials: CredentialSource {
    private let user: String
    private let pair: Mutex<TokenPair>
    private let client: LoginClient

    init(_ user: String, _ pair: TokenPair, client: LoginClient) {
        self.user = user
        self.pair = Mutex(pair)
        self.client = client
    }

    func credential() async throws -> Credential { try .bearer(pair.withLock { $0.accessToken }, owner: user) }

    func renew(after refused: Credential) async throws -> Credential? {
        let renewed = try await client.refresh(pair.withLock { $0.refreshToken })
        pair.withLock { $0 = renewed }
        return try await credential()
    }
}
