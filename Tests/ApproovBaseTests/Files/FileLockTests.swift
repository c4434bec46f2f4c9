import ApproovBase
import ApproovTesting
import Foundation
import Testing

@Suite struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("who comes while another holds the lock waits until the deadline and no longer, and has it once it is free")
    func deadline() throws {
        let path = folder.path("some.lock")
        let lock = FileLock(path: path)
        let impatient = FileLock(path: path, timeout: .milliseconds(50))
        try lock.withLock {
            let start = ContinuousClock.now
            let failure = #expect(throws: FileLock.Failure.self) { try impatient.withLock {} }
            #expect(failure?.message.contains(path) == true)
            #expect(ContinuousClock.now - start >= .milliseconds(50))
        }
        #expect(try impatient.withLock { 7 } == 7)
    }

    @Test("who does not wait gets nothing while another holds the lock, and has it once it is free")
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

    @Test("an error under the lock gives it back")
    func error() throws {
        struct Broken: Error {}
        let lock = FileLock(path: folder.path("some.lock"), timeout: .milliseconds(50))
        #expect(throws: Broken.self) { try lock.withLock { throw Broken() } }
        #expect(try lock.withLock { 7 } == 7)
    }

    @Test("the file is its owner's alone, and neither a link nor a folder is taken for it")
    func file() throws {
        let path = folder.path("some.lock")
        try FileLock(path: path).withLock {}
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: path)
        #expect(throws: FileLock.Failure.self) { try FileLock(path: folder.path("link")).withLock {} }
        #expect(throws: FileLock.Failure.self) { try FileLock(path: folder.url.path()).withLock {} }
    }
}
