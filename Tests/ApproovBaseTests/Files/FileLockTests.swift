import ApproovBase
import ApproovTesting
import Foundation
import Glibc
import Testing

@Suite struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("A second caller waits for the lock until its timeout, then fails, and gets the lock once it is free")
    func deadline() throws {
        let path = folder.path("some.lock")
        let lock = FileLock(path: path)
        let impatient = FileLock(path: path, timeout: .milliseconds(50))
        try lock.withLock {
            let start = ContinuousClock.now
            let failure = #expect(throws: FileLock.Failure.self) { try impatient.withLock {} }
            #expect(failure?.message.contains(path) == true && failure?.isTimeout == true)
            #expect(ContinuousClock.now - start >= .milliseconds(50))
        }
        #expect(try impatient.withLock { 7 } == 7)
    }

    @Test("A descriptor that a child has inherited does not keep the lock")
    func inherited() throws {
        let path = folder.path("some.lock")
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        try FileLock(path: path).withLock {
            let held = (0..<Int32(1_024)).filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
            }
            copies = held.map { dup($0) }
        }
        #expect(copies.count == 1)
        #expect(try FileLock(path: path).withLockIfFree { 7 } == 7)
    }

    @Test("withLockIfFree returns nil while the lock is held, runs once it is free, and throws for a missing folder")
    func withoutWaiting() throws {
        let path = folder.path("some.lock")
        let lock = FileLock(path: path)
        try lock.withLock {
            let value: Int? = try FileLock(path: path).withLockIfFree { 7 }
            #expect(value == nil)
        }
        #expect(try lock.withLockIfFree { 7 } == 7)
        let inner: Int?? = try lock.withLockIfFree { try FileLock(path: path).withLockIfFree { 7 } }
        #expect(inner == .some(nil))
        #expect(try lock.withLock { 7 } == 7)
        #expect(throws: FileLock.Failure.self) { try FileLock(path: folder.path("missing/lock")).withLockIfFree {} }
    }

    @Test("Asynchronous holders take turns, and one whose wait is too long or cancelled leaves the lock to the others")
    func asynchronous() async throws {
        let path = folder.path("some.lock")
        let (entered, gate) = (Gate(), Gate())
        let holder = Task {
            try await FileLock(path: path).withLockHeld {
                entered.open()
                try await gate.wait()
            }
        }
        try await entered.wait()
        await #expect(throws: FileLock.Failure.self) { try await FileLock(path: path, timeout: .milliseconds(20)).withLockHeld {} }
        let cancelled = Task { try await FileLock(path: path).withLockHeld {} }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let value: Int? = try FileLock(path: path).withLockIfFree { 7 }
        #expect(value == nil)
        gate.open()
        try await holder.value
        #expect(try await FileLock(path: path).withLockHeld { 7 } == 7)
        await #expect(throws: CocoaError.self) {
            try await FileLock(path: path).withLockHeld { throw CocoaError(.fileNoSuchFile) }
        }
        #expect(try FileLock(path: path).withLockIfFree { 7 } == 7)
    }

    @Test("An error that is thrown under the lock releases it")
    func error() throws {
        struct Broken: Error {}
        let lock = FileLock(path: folder.path("some.lock"), timeout: .milliseconds(50))
        #expect(throws: Broken.self) { try lock.withLock { throw Broken() } }
        #expect(try lock.withLock { 7 } == 7)
    }

    @Test("The lock file has mode 0600, and a symbolic link or a folder in its place is rejected")
    func file() throws {
        let path = folder.path("some.lock")
        try FileLock(path: path).withLock {}
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: path)
        for path in [folder.path("link"), folder.url.path()] {
            let failure = #expect(throws: FileLock.Failure.self) { try FileLock(path: path).withLock {} }
            #expect(failure?.isTimeout == false)
        }
    }
}
