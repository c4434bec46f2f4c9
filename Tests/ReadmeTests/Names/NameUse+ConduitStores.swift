import ApproovBase
import ApproovTesting
import Foundation
import OAuth2
import OAuth2SecretService
import Testing

extension NameUse {
    /// A token as Conduit's cipher stores it, made with Python's hashlib and OpenSSL from the passphrase "tabby" and the salt "whiskers".
    private static let conduitFile = """
        EBESExQVFhcYGRobHB0eH0f5hwVG9kzSy/Fwrl8oup0M1A4bDpWZf550nWlIcP/7xvk9W8MLSvPhZSflw+U/Zhl308d8SKUcOh80wXdtQUFC9Ei/ZToJn7cg57VO\
        syGhO26cEH61ZvYTLInKkuL8YnR0/U2JW9agA4tFzttJ76Q=
        """

    static let conduitStores: [NameUse] = [
        NameUse("OAuth2TokenKeychainStore, accessGroup") { (_) async throws in
            let folder = try TemporaryFolder()
            let (name, locks) = ("approov:test:\(UUID().uuidString)", folder.file("locks"))
            let store = KeyringTokenStore(name: name, lockDirectory: locks)
            let other = KeyringTokenStore(name: name, lockDirectory: locks)
            let token = try token()
            do {
                try await store.store(token, for: key())
                // Processes with the same name share the tokens, as an access group does, and others do not.
                #expect(try await other.token(for: key()) == token)
                #expect(try await KeyringTokenStore(name: name + "2", lockDirectory: locks).token(for: key()) == nil)
                try await other.remove(for: key())
                #expect(try await store.token(for: key()) == nil)
            } catch let error as OAuth2Error {
                // Containers often forbid the kernel's keyring.
                #expect(error.code == .storeFailed)
            }
            // Without the user's keyring a token is refused, and not stored elsewhere. OAuth2SecretServiceTests tries a real keyring.
            let noBus = SecretServiceTokenStore(name: "app", lockDirectory: locks, busAddress: "unix:path=\(folder.path("bus"))")
            #expect(await codeThrown(as: OAuth2Error.self) { try await noBus.store(token, for: key()) } == .storeFailed)
            #expect(await codeThrown(as: OAuth2Error.self) { try await noBus.token(for: key()) } == .storeFailed)
        },
        NameUse("OAuth2TokenFileStore, OAuth2TokenUserDefaultsStore, OAuth2TokenDiskStore") { (_) async throws in
            let folder = try TemporaryFolder()
            let store = FileTokenStore(directory: folder.file("tokens"), key: WrappingKey.file(folder.file("keys/key")))
            try await store.store(token(), for: key())
            #expect(try await store.token(for: key()) != nil)
        },
        NameUse("OAuth2TokenMemoryStore") { (_) async throws in
            let store = MemoryTokenStore()
            let token = try token()
            try await store.store(token, for: key())
            #expect(try await store.token(for: key()) == token)
            // Another store knows nothing of it.
            #expect(try await MemoryTokenStore().token(for: key()) == nil)
            try await store.remove(for: key())
            #expect(try await store.token(for: key()) == nil)
        },
        NameUse("store(token:for:with:), tokenFor(client:authorization:)") { (_) async throws in
            let store: any TokenStore = MemoryTokenStore()
            let key = TokenKey(client: try oauth2Client(), authorization: Authorization(level: .user))
            try await store.store(token(), for: key)
            #expect(try await store.token(for: key)?.accessToken == "a")
        },
        NameUse("AES256CBCCipher, HybridCipher, PBKDF2Derivator") { (_) async throws in
            let folder = try TemporaryFolder()
            try PrivateFile(path: folder.path("token.bin")).write(Base64.decode(conduitFile) ?? [])
            let store = MemoryTokenStore()
            let wrong = ConduitTokenFile(folder.file("token.bin"), passphrase: "tabby", salt: "paws")
            #expect(await codeThrown(as: OAuth2Error.self) { try await wrong.move(to: store, for: key()) } == .tokenDamaged)
            let file = ConduitTokenFile(folder.file("token.bin"), passphrase: "tabby", salt: "whiskers")
            #expect(try await file.move(to: store, for: key()))
            let token = try #require(try await store.token(for: key()))
            #expect(token.accessToken == "old-access" && token.refreshToken == "old-refresh")
            #expect(token.expiresAt == Date(timeIntervalSinceReferenceDate: 798_412_345))
            #expect(try folder.names.isEmpty)
        },
        NameUse("TokenMigrator") { (_) async throws in
            let (old, new) = (MemoryTokenStore(), MemoryTokenStore())
            try await old.store(token(), for: key())
            #expect(try await TokenMigration(from: old, to: new).run([key()]) == 1)
        },
        NameUse("Auth.Migrator") { (world) async throws in
            let hearing = Hearing()
            let observer: any TokenFetchObserver = hearing
            let credentials = try OAuth2Credentials(
                endpoints: endpoints(issuing(), clock: world.clock), authorization: Authorization(level: .client),
                store: MemoryTokenStore(), observer: observer)
            // They call willFetch(for:) and didFetch(for:error:) once, because the second token comes from the store.
            for _ in 1...2 { _ = try await credentials.token() }
            #expect(hearing.heard.value == ["willFetch", "didFetch"])
        },
        NameUse("refreshBearerTokenWithin") { (world) async throws in
            let (server, clock) = (issuing(), world.clock)
            let credentials = try OAuth2Credentials(
                endpoints: endpoints(server, clock: clock), authorization: Authorization(level: .client), store: MemoryTokenStore(),
                renewalLead: .seconds(600))
            _ = try await credentials.token()
            for (seconds, fetches) in [(2_999, 1), (1, 2)] {
                clock.advance(by: .seconds(seconds))
                _ = try await credentials.token()
                #expect(server.requests.count == fetches)
            }
        },
        NameUse("tokenRefreshLockRelinquishInterval") { (_) async throws in
            let folder = try TemporaryFolder()
            let secret = WrappingKey { [UInt8](repeating: 7, count: 32) }
            let stores: [any TokenStore] = (1...2).map { _ in
                FileTokenStore(directory: folder.file("tokens"), key: secret, lockTimeout: .milliseconds(20))
            }
            try await stores[0].withExclusiveAccess(for: key()) {
                let error = await #expect(throws: OAuth2Error.self) { try await stores[1].withExclusiveAccess(for: key()) {} }
                #expect(error?.code == .storeBusy)
            }
        },
    ]

    /// Hears of fetches.
    private struct Hearing: TokenFetchObserver {
        let heard = Shared<[String]>([])

        func willFetch(for key: TokenKey) { heard.change { $0.append("willFetch") } }
        func didFetch(for key: TokenKey, error: (any Error)?) { heard.change { $0.append(error == nil ? "didFetch" : "failed") } }
    }
}
