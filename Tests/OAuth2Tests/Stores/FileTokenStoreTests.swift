import ApproovBase
import ApproovTesting
import Foundation
import OAuth2
import Testing

// Acceptance list: S2.22, S2.23, S2.84
@Suite struct FileTokenStoreTests {
    /// A folder of tokens with its key in another folder.
    private struct Place {
        let folder: TemporaryFolder
        let store: FileTokenStore
        let key: TokenKey

        init() throws {
            folder = try TemporaryFolder()
            store = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/wrapping.key")))
            key = try Samples.key("alice@example.com")
        }

        var path: String { store.path(key) }
        /// The same files, as another process sees them.
        var other: FileTokenStore { FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/wrapping.key"))) }

        func thrown(_ body: () async throws -> Void) async -> OAuth2Error.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? OAuth2Error)?.code
            }
        }
    }

    @Test("A token is stored in a private file that shows neither the token nor the account, and another process reads it")
    func roundTrip() async throws {
        let place = try Place()
        #expect(try await place.store.token(for: place.key) == nil)
        let token = try Samples.token("ACCESS", refresh: "REFRESH")
        try await place.store.store(token, for: place.key)
        #expect(try await place.store.token(for: place.key) == token)
        #expect(try await place.other.token(for: place.key) == token)
        #expect(try await place.other.token(for: Samples.key("bob")) == nil)
        let status = try #require(FileStatus(place.path))
        #expect(status.permissions == 0o600 && FileStatus(place.folder.path("tokens"))?.permissions == 0o700)
        let bytes = try Data(contentsOf: URL(filePath: place.path))
        for secret in ["ACCESS", "REFRESH", "alice"] { #expect(bytes.range(of: Data(secret.utf8)) == nil && !place.path.contains(secret)) }
        // Every write has its own nonce.
        try await place.store.store(token, for: place.key)
        #expect(try Data(contentsOf: URL(filePath: place.path)) != bytes)
        let later = try Samples.token("NEXT")
        try await place.other.store(later, for: place.key)
        #expect(try await place.store.token(for: place.key) == later)
        try await place.store.remove(for: place.key)
        #expect(try await place.other.token(for: place.key) == nil)
        #expect(!(try FileManager.default.contentsOfDirectory(atPath: place.folder.path("tokens"))).contains { $0.hasSuffix(".token") })
    }

    @Test("Replacing succeeds only while the expected token is there")
    func replace() async throws {
        let place = try Place()
        let (first, second, third) = (try Samples.token("a"), try Samples.token("b"), try Samples.token("c"))
        #expect(try await !place.store.replace(first, with: second, for: place.key))
        try await place.store.store(first, for: place.key)
        #expect(try await place.store.replace(first, with: second, for: place.key))
        #expect(try await !place.other.replace(first, with: third, for: place.key))
        #expect(try await place.other.replace(second, with: nil, for: place.key))
        #expect(try await place.store.token(for: place.key) == nil)
    }

    @Test("A token is stored only where there is none, and what was set aside is removed without the token")
    func storeIfAbsent() async throws {
        let place = try Place()
        let (first, second) = (try Samples.token("a"), try Samples.token("b"))
        try await place.store.removeLeftovers(for: place.key)
        #expect(FileStatus(place.folder.path("tokens")) == nil)
        #expect(try await place.store.storeIfAbsent(first, for: place.key))
        #expect(try await !place.other.storeIfAbsent(second, for: place.key))
        try await place.other.removeLeftovers(for: place.key)
        #expect(try await place.store.token(for: place.key) == first)
        // A damaged token counts as one.
        try Data("damaged".utf8).write(to: URL(filePath: place.path))
        #expect(await place.thrown { _ = try await place.other.storeIfAbsent(second, for: place.key) } == .tokenDamaged)
        #expect(FileStatus(place.path + ".damaged") != nil)
        try await place.other.removeLeftovers(for: place.key)
        #expect(FileStatus(place.path) == nil && FileStatus(place.path + ".damaged") == nil)
    }

    @Test("A file truncated at any byte does not open, is set aside and reported, and the next log-in is stored")
    func truncated() async throws {
        let place = try Place()
        try await place.store.store(Samples.token("SECRET"), for: place.key)
        let whole = try Array(Data(contentsOf: URL(filePath: place.path)))
        for count in 0..<whole.count {
            try PrivateFile(path: place.path).write(Array(whole[..<count]))
            let store = place.other
            #expect(await place.thrown { _ = try await store.token(for: place.key) } == .tokenDamaged, "\(count) bytes")
            #expect(try Array(Data(contentsOf: URL(filePath: place.path + ".damaged"))) == Array(whole[..<count]))
            #expect(try await store.token(for: place.key) == nil)
        }
        try await place.store.store(Samples.token("b"), for: place.key)
        #expect(try await place.store.token(for: place.key)?.accessToken == "b")
        try await place.store.remove(for: place.key)
        #expect(FileStatus(place.path + ".damaged") == nil)
    }

    @Test("A file with any bit flipped does not open")
    func flipped() async throws {
        let place = try Place()
        try await place.store.store(Samples.token("SECRET"), for: place.key)
        let whole = try Array(Data(contentsOf: URL(filePath: place.path)))
        let store = place.other
        for index in 0..<(whole.count * 8) {
            var bytes = whole
            bytes[index / 8] ^= 1 << (index % 8)
            try PrivateFile(path: place.path).write(bytes)
            let thrown = await place.thrown { _ = try await store.token(for: place.key) }
            // A flipped key identifier looks like another key; that file stays.
            #expect(thrown == ((4..<12).contains(index / 8) ? .wrongKey : .tokenDamaged), "bit \(index)")
        }
    }

    @Test("A file in the place of another account's does not open")
    func swapped() async throws {
        let place = try Place()
        let bob = try Samples.key("bob")
        try await place.store.store(Samples.token("a"), for: place.key)
        try FileManager.default.copyItem(atPath: place.path, toPath: place.store.path(bob))
        #expect(await place.thrown { _ = try await place.store.token(for: bob) } == .tokenDamaged)
    }

    @Test("Plain JSON in the place of a token is never read")
    func plain() async throws {
        let place = try Place()
        try await place.store.store(Samples.token(), for: place.key)
        try PrivateFile(path: place.path).write(TokenRecord.bytes(of: Samples.token("evil")))
        #expect(await place.thrown { _ = try await place.store.token(for: place.key) } == .tokenDamaged)
    }

    @Test("Another key does not open the file, which stays for the right one")
    func wrongKey() async throws {
        let place = try Place()
        let token = try Samples.token()
        try await place.store.store(token, for: place.key)
        let other = FileTokenStore(directory: place.folder.file("tokens"), key: .file(place.folder.file("keys/other.key")))
        #expect(await place.thrown { _ = try await other.token(for: place.key) } == .wrongKey)
        #expect(try await place.other.token(for: place.key) == token)
    }

    @Test("A symbolic link, a FIFO, a folder, a file open to others and one that is too large are refused and stay")
    func unsafe() async throws {
        let place = try Place()
        try await place.store.store(Samples.token(), for: place.key)
        let aside = place.folder.path("aside")
        try FileManager.default.moveItem(atPath: place.path, toPath: aside)
        let (store, key, path) = (place.other, place.key, place.path)
        func refused(_ what: String) async {
            #expect(await place.thrown { _ = try await store.token(for: key) } == .storeFailed, "\(what)")
            #expect(FileStatus(path, followsLink: false) != nil, "\(what)")
            unlink(path)
            rmdir(path)
        }
        symlink(aside, path)
        await refused("link")
        mkfifo(path, 0o600)
        await refused("FIFO")
        mkdir(path, 0o700)
        await refused("folder")
        try FileManager.default.copyItem(atPath: aside, toPath: path)
        chmod(path, 0o644)
        await refused("mode")
        try PrivateFile(path: path).write([UInt8](repeating: 0, count: 200_000))
        await refused("size")
        // Writing puts a file in the place of a link, and leaves what the link points to.
        symlink(aside, path)
        let before = try Data(contentsOf: URL(filePath: aside))
        try await store.store(Samples.token("b"), for: key)
        #expect(try Data(contentsOf: URL(filePath: aside)) == before)
        #expect(try await store.token(for: key)?.accessToken == "b")
    }

    @Test("A file of another user is refused and stays", .enabled(if: geteuid() == 0))
    func owner() async throws {
        let place = try Place()
        try await place.store.store(Samples.token(), for: place.key)
        try #require(chown(place.path, 65_534, 65_534) == 0)
        #expect(await place.thrown { _ = try await place.other.token(for: place.key) } == .storeFailed)
        #expect(FileStatus(place.path, followsLink: false) != nil)
    }

    @Test("Removing a token does nothing when there is no folder, and fails when the folder cannot be examined")
    func removeWithoutFolder() async throws {
        let place = try Place()
        try await place.store.remove(for: place.key)
        try place.folder.write("", to: "file")
        symlink("loop", place.folder.path("loop"))
        for parent in ["file", "loop"] {
            let store = FileTokenStore(directory: place.folder.file("\(parent)/tokens"), key: .file(place.folder.file("keys/wrapping.key")))
            #expect(await place.thrown { try await store.remove(for: place.key) } == .storeFailed, "\(parent)")
        }
    }

    @Test("A folder that others can write to is refused")
    func folder() async throws {
        let place = try Place()
        mkdir(place.folder.path("tokens"), 0o700)
        chmod(place.folder.path("tokens"), 0o777)
        #expect(await place.thrown { try await place.store.store(Samples.token(), for: place.key) } == .storeFailed)
    }

    @Test("A folder that others can write to since the token was stored gives no token, but a log-out still removes it")
    func opened() async throws {
        let place = try Place()
        try await place.store.store(Samples.token(), for: place.key)
        chmod(place.folder.path("tokens"), 0o770)
        #expect(await place.thrown { _ = try await place.other.token(for: place.key) } == .storeFailed)
        chmod(place.folder.path("tokens"), 0o700)
        #expect(try await place.other.token(for: place.key) != nil)
        chmod(place.folder.path("tokens"), 0o770)
        try await place.other.remove(for: place.key)
        #expect(FileStatus(place.path) == nil)
    }

    @Test("When the file is gone, the store forgets the token that it has read")
    func forgotten() async throws {
        let place = try Place()
        try await place.store.store(Samples.token(), for: place.key)
        #expect(try await place.store.token(for: place.key) != nil)
        let aside = place.folder.path("aside")
        try FileManager.default.moveItem(atPath: place.path, toPath: aside)
        #expect(try await place.store.token(for: place.key) == nil)
        // The same file is back. Only a store that has to open it again examines the folder.
        try FileManager.default.moveItem(atPath: aside, toPath: place.path)
        chmod(place.folder.path("tokens"), 0o770)
        #expect(await place.thrown { _ = try await place.store.token(for: place.key) } == .storeFailed)
    }

    @Test("A lock that cannot be taken for another reason than another process is a failure, and the store is not busy")
    func lockFailure() async throws {
        let place = try Place()
        try await place.store.withExclusiveAccess(for: place.key) { try await place.store.store(Samples.token(), for: place.key) }
        for suffix in [".lock", ".turn"] {
            unlink(place.path + suffix)
            symlink("nowhere", place.path + suffix)
        }
        #expect(await place.thrown { try await place.store.store(Samples.token(), for: place.key) } == .storeFailed)
        #expect(await place.thrown { try await place.store.remove(for: place.key) } == .storeFailed)
        #expect(await place.thrown { try await place.store.withExclusiveAccess(for: place.key) {} } == .storeFailed)
        let locks = TokenLocks(directory: place.folder.file("locks"), store: "a store")
        try locks.withLock(for: place.key) {}
        let path = place.folder.path("locks/\(locks.name(of: place.key))")
        unlink(path + ".lock")
        for suffix in [".lock", ".turn"] { symlink("nowhere", path + suffix) }
        #expect(await place.thrown { try locks.withLock(for: place.key) {} } == .storeFailed)
        #expect(await place.thrown { try await locks.withLockHeld(for: place.key, timeout: .zero) {} } == .storeFailed)
        #expect(await place.thrown { try await locks.withExclusiveAccess(for: place.key) {} } == .storeFailed)
    }

    @Test("A token that is due but valid is used while another process keeps the turn")
    func busyButValid() async throws {
        let place = try Place()
        let store = FileTokenStore(
            directory: place.folder.file("tokens"), key: .file(place.folder.file("keys/wrapping.key")), lockTimeout: .milliseconds(20))
        let clock = ManualClock(date: Date())
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: InProcessTransport(status: 500)), store: store, account: "alice@example.com")
        try await credentials.logIn(Samples.token("a0", life: 3_600, at: clock.date - 3_570))
        let lock = try HeldLock(place.path + ".turn")
        #expect(try await credentials.token().accessToken == "a0")
        clock.advance(by: .seconds(60))
        #expect(await place.thrown { _ = try await credentials.token() } == .storeBusy)
        lock.release()
    }

    @Test("Exclusive access is taken in turns by tasks and by stores that share the folder")
    func exclusive() async throws {
        let place = try Place()
        let inside = Shared(0)
        let total = Shared(0)
        let stores = [place.store, place.other, place.other]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<30 {
                group.addTask {
                    try await stores[index % 3].withExclusiveAccess(for: place.key) {
                        #expect(
                            inside.change {
                                $0 += 1; return $0
                            } == 1)
                        await Task.yield()
                        #expect(
                            inside.change {
                                $0 -= 1; return $0
                            } == 0)
                        total.change { $0 += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(total.value == 30)
    }

    @Test("A store that another process holds for longer than the store waits is busy, for a renewal as well, and works again afterwards")
    func busy() async throws {
        let place = try Place()
        let store = FileTokenStore(
            directory: place.folder.file("tokens"), key: .file(place.folder.file("keys/wrapping.key")), lockTimeout: .milliseconds(20))
        let server = InProcessTransport { request in
            .json(#"{"access_token":"a1","token_type":"Bearer","expires_in":600}"#, to: request)
        }
        let clock = ManualClock(date: Date())
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: server), store: store, account: "alice@example.com")
        try #require(credentials.key == place.key)
        try await credentials.logIn(Samples.token(life: -1, at: clock.date))
        let lock = try HeldLock(place.path + ".turn")
        let entered = Shared(false)
        #expect(await place.thrown { try await store.withExclusiveAccess(for: place.key) { entered.value = true } } == .storeBusy)
        #expect(!entered.value)
        #expect(await place.thrown { _ = try await credentials.token() } == .storeBusy)
        #expect(server.requests.isEmpty)
        // Other accounts have their own lock.
        try await store.withExclusiveAccess(for: Samples.key("bob")) {}
        lock.release()
        try await store.withExclusiveAccess(for: place.key) { entered.value = true }
        #expect(entered.value)
        #expect(try await credentials.token().accessToken == "a1")
    }

    @Test("A cancelled task does not wait for its turn, and the others get theirs")
    func cancelled() async throws {
        let place = try Place()
        let gate = Gate()
        let entered = Gate()
        let holder = Task {
            try await place.store.withExclusiveAccess(for: place.key) {
                entered.open()
                try await gate.wait()
            }
        }
        try await entered.wait()
        let inProcess = Task { try await place.store.withExclusiveAccess(for: place.key) {} }
        let otherProcess = Task { try await place.other.withExclusiveAccess(for: place.key) {} }
        inProcess.cancel()
        otherProcess.cancel()
        await #expect(throws: CancellationError.self) { try await inProcess.value }
        await #expect(throws: CancellationError.self) { try await otherProcess.value }
        gate.open()
        try await holder.value
        try await place.store.withExclusiveAccess(for: place.key) {}
    }
}
