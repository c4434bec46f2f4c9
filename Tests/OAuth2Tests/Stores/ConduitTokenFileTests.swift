import ApproovBase
import ApproovTesting
import Foundation
import OAuth2
import Testing

// Acceptance list: S2.120
@Suite struct ConduitTokenFileTests {
    /// Made with Python's hashlib and cryptography as Conduit makes it, from the passphrase "correct horse" and the salt "battery".
    private static let content =
        Base64.decode(
            "AAECAwQFBgcICQoLDA0ODx4Hs40kfzR9bBtf1omhsw9qUnD5mXSN3N/j3HeZB3nKVK2siBQeiPW5n32F5AGXU0FtamQwxFIYcYx/gbjNiCBrvgwFoai5MPlwjpHmx+0GTddagskxScxOSN0xsjxNjA=="
        ) ?? []

    private func file(_ content: [UInt8], in folder: TemporaryFolder, passphrase: String = "correct horse") throws -> ConduitTokenFile {
        try PrivateFile(path: folder.path("token.bin")).write(content)
        return ConduitTokenFile(folder.file("token.bin"), passphrase: passphrase, salt: "battery")
    }

    @Test("A file of Conduit's cipher moves into a store once")
    func moves() async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (store, key) = (MemoryTokenStore(), try Samples.key())
        #expect(try await file.move(to: store, for: key))
        let token = try #require(try await store.token(for: key))
        #expect(token.accessToken == "conduit-access" && token.refreshToken == "conduit-refresh")
        #expect(token.expiresAt == Date(timeIntervalSinceReferenceDate: 798_412_345.25))
        #expect(try folder.names.isEmpty)
        #expect(try await !file.move(to: store, for: key))
    }

    @Test("A user who logged out while a second process waited to move the same file stays logged out")
    func loggedOut() async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (store, key) = (BrittleStore(), try Samples.key())
        let second = try await store.withExclusiveAccess(for: key) {
            let second = Task { try await file.move(to: store, for: key) }
            #expect(await eventually { store.isWaitedFor.value })
            // The first process has moved the token, and its user has logged out.
            try FileManager.default.removeItem(at: folder.file("token.bin"))
            return second
        }
        #expect(try await !second.value)
        #expect(try await store.token(for: key) == nil)
    }

    @Test("A file that was copied but cannot be removed gives an error with the reason as its cause")
    func notRemoved() async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (store, key) = (RacingStore(), try Samples.key())
        store.onStore.value = {
            try FileManager.default.removeItem(at: folder.file("token.bin"))
            try FileManager.default.createDirectory(at: folder.file("token.bin"), withIntermediateDirectories: false)
        }
        let error = try await #require(throws: OAuth2Error.self) { try await file.move(to: store, for: key) }
        #expect(error.code == .storeFailed && error.message.contains("token.bin was copied but cannot be removed"))
        #expect((error.cause as? FileError)?.code == .fileWriteFailed)
    }

    /// Both contents expire in the distant future, as Conduit writes tokens without expires_in.
    @Test(
        "A token without an end is renewed at once if it has a refresh token, and otherwise lives for a year",
        arguments: [
            (
                "AAECAwQFBgcICQoLDA0ODx4Hs40kfzR9bBtf1omhsw9lenHw+oMCgcsZfOu+GTruFVEqg4AC7Y0xWUHcFZ+1UuVIau/A/qulI61NYxTpGJgZ2tSuMujw0pL+xPVx3C5cGlvN1MIzyYBUvNdYa2ZEHQ==",
                true
            ),
            (
                "AAECAwQFBgcICQoLDA0ODx4Hs40kfzR9bBtf1omhsw81SaMh47E/aJKluLhheLblWhQk9NlpGW5DSP5JhohlcT7IHR0a29rEycSop4GYQWwb2uaMtA+1cwUqZ+cfHj2Y",
                false
            ),
        ])
    func unbounded(content: String, isRefreshable: Bool) async throws {
        let folder = try TemporaryFolder()
        let token = try #require(try file(Base64.decode(content) ?? [], in: folder).token())
        #expect((token.refreshToken != nil) == isRefreshable)
        let year: TimeInterval = 365 * 86_400
        #expect(token.isExpired(at: Date()) == isRefreshable)
        #expect(token.isExpired(at: Date() + year))
        #expect(isRefreshable || !token.isExpired(at: Date() + year - 3_600))
        #expect(try folder.names == ["token.bin"])
        // The app's own token is fetched again.
        let (store, key) = (MemoryTokenStore(), try Samples.key(level: .client))
        #expect(try await file(Base64.decode(content) ?? [], in: folder).move(to: store, for: key))
        #expect(try #require(await store.token(for: key)).isExpired(at: Date()))
    }

    @Test("A store that fails leaves the file, and a token that the store has stays")
    func failures() async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (brittle, key) = (BrittleStore(), try Samples.key())
        brittle.failsToStore.value = true
        await #expect(throws: OAuth2Error.self) { try await file.move(to: brittle, for: key) }
        #expect(try folder.names == ["token.bin"])
        let (store, newer) = (MemoryTokenStore(), try Samples.token("newer"))
        try await store.store(newer, for: key)
        #expect(try await !file.move(to: store, for: key))
        #expect(try await store.token(for: key) == newer)
    }

    @Test("A user who logs in after the file's token was stored, or was read back, keeps the token", arguments: [false, true])
    func loggedIn(isReadBack: Bool) async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (store, key) = (RacingStore(), try Samples.key())
        let hook = isReadBack ? store.onRead : store.onStore
        hook.value = {
            hook.value = nil
            try await store.store(Samples.token("bob"), for: key)
        }
        _ = try await file.move(to: store, for: key)
        #expect(try await store.token(for: key)?.accessToken == "bob")
        #expect(try folder.names.isEmpty)
    }

    @Test("A move that was interrupted after the token was stored ends with the next call, and the token stays")
    func interrupted() async throws {
        let folder = try TemporaryFolder()
        let (store, key) = (MemoryTokenStore(), try Samples.key())
        #expect(try await file(Self.content, in: folder).move(to: store, for: key))
        let token = try await store.token(for: key)
        #expect(try await !file(Self.content, in: folder).move(to: store, for: key))
        #expect(try await store.token(for: key) == token && folder.names.isEmpty)
    }

    @Test("A store that returns only a part of the token does not get it, and the file stays")
    func altered() async throws {
        let folder = try TemporaryFolder()
        let file = try file(Self.content, in: folder)
        let (store, key) = (BrittleStore(), try Samples.key())
        store.alter.value = { try BearerToken(accessToken: $0.accessToken, expiresAt: $0.expiresAt) }
        for _ in 1...2 {
            #expect(await codeThrown(as: OAuth2Error.self) { try await file.move(to: store, for: key) } == .storeFailed)
            #expect(try folder.names == ["token.bin"])
        }
        let cutting = BrittleStore()
        cutting.alter.value = { try BearerToken(accessToken: String($0.accessToken.dropLast()), expiresAt: $0.expiresAt) }
        for _ in 1...2 {
            #expect(await codeThrown(as: OAuth2Error.self) { try await file.move(to: cutting, for: key) } == .storeFailed)
            #expect(try folder.names == ["token.bin"])
        }
    }

    @Test("Plain JSON, another passphrase, truncation and unsafe files are refused, and the file stays")
    func refused() throws {
        let folder = try TemporaryFolder()
        let plain = Array(#"{"accessToken":"evil","expiration":1}"#.utf8)
        for content in [plain, [], Array(Self.content.dropLast()), Array(Self.content.dropLast(16)), [UInt8](repeating: 0, count: 32)] {
            let file = try file(content, in: folder)
            #expect(code(as: OAuth2Error.self) { try file.token() } == .tokenDamaged)
            #expect(try folder.names == ["token.bin"])
        }
        #expect(code(as: OAuth2Error.self) { try file(Self.content, in: folder, passphrase: "wrong").token() } == .tokenDamaged)
        let open = try file(Self.content, in: folder)
        chmod(folder.path("token.bin"), 0o644)
        #expect(code(as: OAuth2Error.self) { try open.token() } == .storeFailed)
    }
}
