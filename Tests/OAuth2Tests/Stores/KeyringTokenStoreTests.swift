import ApproovTesting
import CKeyUtils
import Foundation
import Glibc
import Testing

@testable import OAuth2

// Acceptance list: S2.83
@Suite struct KeyringTokenStoreTests {
    /// Whether the kernel lets this process use the user's keyring; containers often forbid it.
    static var isPossible: Bool {
        let name = "approov:test:\(UUID().uuidString)"
        defer { try? KernelKeyring.remove(name) }
        return (try? KernelKeyring.write([1], named: name)) != nil && (try? KernelKeyring.read(name, limit: 1)) == [1]
    }

    @Test("A token is stored, replaced and removed", .enabled("the kernel's keyring cannot be used here") { isPossible })
    func roundTrip() async throws {
        let folder = try TemporaryFolder()
        let name = "approov:test:\(UUID().uuidString)"
        let store = KeyringTokenStore(name: name, lockDirectory: folder.file("locks"))
        let other = KeyringTokenStore(name: name, lockDirectory: folder.file("locks"))
        let key = try Samples.key()
        let (first, second) = (try Samples.token("a"), try Samples.token("b"))
        #expect(try await store.token(for: key) == nil)
        try await store.store(first, for: key)
        #expect(try await other.token(for: key) == first)
        #expect(try await other.token(for: Samples.key("bob")) == nil)
        #expect(try await !store.replace(second, with: nil, for: key))
        #expect(try await other.replace(first, with: second, for: key))
        #expect(try await store.withExclusiveAccess(for: key) { try await other.token(for: key) } == second)
        #expect(try await !other.storeIfAbsent(first, for: key))
        #expect(try await store.token(for: key) == second)
        try await store.remove(for: key)
        #expect(try await other.token(for: key) == nil)
        #expect(try await other.storeIfAbsent(first, for: key))
        #expect(try await store.token(for: key) == first)
        try await store.remove(for: key)
    }

    @Test(
        "A process whose session has no link to the user's keyring, as a systemd service, stores, replaces and removes keys, and others read them",
        .enabled("the kernel's keyring cannot be used here") { isPossible })
    func ownSession() async throws {
        let name = "approov:test:\(UUID().uuidString)"
        defer { try? KernelKeyring.remove(name) }
        let results = AsyncStream<Result<[[UInt8]?], any Error>> { results in
            // A session keyring belongs to a thread.
            Thread {
                results.yield(
                    Result {
                        guard keyctl_join_session_keyring(nil) >= 0 else { throw TestServerError("no session: \(errno)") }
                        try KernelKeyring.write([1], named: name)
                        let first = try KernelKeyring.read(name, limit: 1)
                        try KernelKeyring.write([2], named: name)
                        let second = try KernelKeyring.read(name, limit: 1)
                        try KernelKeyring.remove(name)
                        let third = try KernelKeyring.read(name, limit: 1)
                        try KernelKeyring.write([3], named: name)
                        return [first, second, third]
                    })
                results.finish()
            }.start()
        }
        for await result in results { #expect(try result.get() == [[1], [2], nil]) }
        #expect(try KernelKeyring.read(name, limit: 1) == [3])
        try KernelKeyring.write([4], named: name)
        #expect(try KernelKeyring.read(name, limit: 1) == [4])
    }

    @Test("Two stores may share a folder of locks, so that tokens can move between them")
    func sharedLocks() async throws {
        let folder = try TemporaryFolder()
        let key = try Samples.key()
        let stores = ["old", "new"].map { KeyringTokenStore(name: "approov:test:\($0)", lockDirectory: folder.file("locks")) }
        #expect(try await stores[1].withExclusiveAccess(for: key) { try await stores[0].withExclusiveAccess(for: key) { true } })
    }

    @Test("What is no token, or is too large, is refused", .enabled("the kernel's keyring cannot be used here") { isPossible })
    func damaged() async throws {
        let folder = try TemporaryFolder()
        let name = "approov:test:\(UUID().uuidString)"
        let store = KeyringTokenStore(name: name, lockDirectory: folder.file("locks"))
        let key = try Samples.key()
        let description = store.description(key)
        defer { try? KernelKeyring.remove(description) }
        try KernelKeyring.write(Array("{}".utf8), named: description)
        #expect(await codeThrown(as: OAuth2Error.self) { try await store.token(for: key) } == .tokenDamaged)
        #expect(code(as: OAuth2Error.self) { try KernelKeyring.read(description, limit: 1) } == .storeFailed)
    }
}
