import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OAuth2
import OAuth2SecretService
import Testing

/// Renews nothing.
private struct NoRefresh: RefreshStrategy {
    func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken { token }
}

extension NameUse {
    private static func oauth2Client() throws -> OAuth2Client {
        let server = try OAuth2Server(
            tokenURL: url("https://login.test/token"), authorizationURL: url("https://login.test/authorize"), scope: "read")
        return try OAuth2Client(id: "app", secret: ClientSecret("s"), server: server)
    }

    private static func endpoints() throws -> OAuth2Endpoints {
        let transport = InProcessTransport(certificates: [:]) { request in
            TransportResponse(
                status: 200, headerFields: [.contentType: "application/json"], url: request.url,
                body: ResponseBody(bytes: Array(#"{"access_token":"a","token_type":"Bearer"}"#.utf8)))
        }
        return try OAuth2Endpoints(client: oauth2Client(), transport: transport, clock: ManualClock())
    }

    private static func key() throws -> TokenKey {
        TokenKey(client: try oauth2Client(), authorization: Authorization(level: .user))
    }

    private static func token() throws -> BearerToken {
        try BearerToken(accessToken: "a", expiresAt: Date(timeIntervalSince1970: 4_000_000_000))
    }

    static let conduitTokens: [NameUse] = [
        NameUse("OAuth2ServerEnvironment") { (_) async throws in
            #expect(try OAuth2Server(tokenURL: url("https://login.test/token"), scope: "read").scope == "read")
        },
        NameUse("OAuth2ClientConfiguration") { (_) async throws in
            let server = try oauth2Client().server
            #expect(try OAuth2Client(id: "app", secret: ClientSecret("s"), server: server).id == "app")
        },
        NameUse("OAuth2Authorization") { (_) async throws in
            #expect(Authorization(type: .basic, level: .client).level == .client)
        },
        NameUse("OAuth2PasswordTokenGrantStrategy, issueToken") { (_) async throws in
            let endpoints: OAuth2Endpoints = try endpoints()
            #expect(try await endpoints.issue(PasswordGrant(username: "alice", password: "p")).accessToken == "a")
        },
        NameUse("OAuth2ClientCredentialsTokenGrantStrategy") { (_) async throws in
            #expect(try await endpoints().issue(ClientCredentialsGrant(scope: "read")).accessToken == "a")
        },
        NameUse("OAuth2AuthorizationCodeTokenGrantStrategy") { (_) async throws in
            let grant = AuthorizationCodeGrant(
                code: "c", redirectURI: url("http://127.0.0.1:7/callback"), verifier: String(repeating: "v", count: 43))
            #expect(try await endpoints().issue(grant).accessToken == "a")
        },
        NameUse("OAuth2RefreshTokenGrantStrategy") { (_) async throws in
            #expect(try await endpoints().issue(RefreshGrant(refreshToken: "r", scope: "read")).accessToken == "a")
        },
        NameUse("OAuth2ExtensionTokenGrantStrategy") { (_) async throws in
            let grant = ExtensionGrant(type: "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters: [("assertion", "j")])
            #expect(try await endpoints().issue(grant).accessToken == "a")
        },
        NameUse("OAuth2AuthorizationStrategy, OAuth2AuthorizationRequest") { (_) async throws in
            let redirect: LoopbackRedirect = try LoopbackRedirect()
            let request = try AuthorizationRequest(client: oauth2Client(), redirectURI: redirect.redirectURI)
            let waiting = Task { try await redirect.grant(for: request) }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        },
        NameUse("OAuth2TokenKeychainStore, accessGroup") { (_) async throws in
            let folder = try TemporaryFolder()
            _ = SecretServiceTokenStore(name: "app", lockDirectory: folder.url)
            _ = KeyringTokenStore(name: "app", lockDirectory: folder.url)
        },
        NameUse("OAuth2TokenFileStore, OAuth2TokenUserDefaultsStore, OAuth2TokenDiskStore") { (_) async throws in
            let folder = try TemporaryFolder()
            let store = FileTokenStore(directory: folder.file("tokens"), key: WrappingKey.file(folder.file("keys/key")))
            try await store.store(token(), for: key())
            #expect(try await store.token(for: key()) != nil)
        },
        NameUse("OAuth2TokenMemoryStore") { (_) async throws in
            #expect(try await MemoryTokenStore().token(for: key()) == nil)
        },
        NameUse("store(token:for:with:), tokenFor(client:authorization:)") { (_) async throws in
            let store: any TokenStore = MemoryTokenStore()
            let key = TokenKey(client: try oauth2Client(), authorization: Authorization(level: .user))
            try await store.store(token(), for: key)
            #expect(try await store.token(for: key)?.accessToken == "a")
        },
        NameUse("AES256CBCCipher, HybridCipher, PBKDF2Derivator") { (_) async throws in
            let folder = try TemporaryFolder()
            let file = ConduitTokenFile(folder.file("missing"), passphrase: "p", salt: "s")
            #expect(try await !file.move(to: MemoryTokenStore(), for: key()))
        },
        NameUse("TokenMigrator") { (_) async throws in
            let (old, new) = (MemoryTokenStore(), MemoryTokenStore())
            try await old.store(token(), for: key())
            #expect(try await TokenMigration(from: old, to: new).run([key()]) == 1)
        },
        NameUse("OAuth2RequestPipelineMiddleware") { (_) async throws in
            let credentials = try OAuth2Credentials(
                endpoints: endpoints(), authorization: Authorization(level: .user), store: MemoryTokenStore())
            _ = try OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])
        },
        NameUse("OAuth2RefreshStrategyFactory") { (_) async throws in
            let strategy: any RefreshStrategy = NoRefresh()
            #expect(try await strategy.refresh(token(), at: endpoints()).accessToken == "a")
        },
        NameUse("tokenRefreshLockRelinquishInterval") { (_) async throws in
            let store: any TokenStore = MemoryTokenStore()
            #expect(try await store.withExclusiveAccess(for: key()) { 7 } == 7)
        },
    ]
}
