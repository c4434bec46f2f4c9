import Approov
import ApproovTesting
import Attestation
import Foundation
import Glibc
import Testing

@Suite struct FileConfigurationStoreTests {
    let folder: TemporaryFolder
    let account: TestAccount

    init() throws {
        folder = try TemporaryFolder()
        account = try TestAccount()
    }

    private var store: FileConfigurationStore { FileConfigurationStore(directory: folder.url) }

    private func service(_ directory: URL? = nil) throws -> ApproovService {
        try ApproovService(
            configuration: try ApproovConfiguration(try account.initial()), stateDirectory: directory ?? folder.url,
            attester: ScriptedAttester(), transport: InProcessTransport(status: 500), clock: ManualClock(), logger: .quiet)
    }

    private func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
        return try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
    }

    @Test("what was stored is read back, from a file of mode 0600 in a folder that was made for it")
    func roundTrip() throws {
        let nested = FileConfigurationStore(directory: folder.url.appending(path: "a/b"))
        #expect(try nested.read() == nil)
        try nested.store([1, 2, 3])
        #expect(try nested.read() == [1, 2, 3])
        #expect(try mode("a/b/approov-dynamic.json") == 0o600)
        #expect(try mode("a/b") == 0o700)
        try nested.setAside()
        #expect(try nested.read() == nil)
        #expect(try mode("a/b/approov-dynamic.json.refused") == 0o600)
    }

    @Test("a folder, a FIFO, a link, a file for others and garbage in the file's place are set aside; the initial configuration serves")
    func intruders() throws {
        let name = "approov-dynamic.json"
        let path = folder.path(name)
        let intruders: [() throws -> Void] = [
            { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) },
            { _ = mkfifo(path, 0o600) },
            { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd") },
            { _ = FileManager.default.createFile(atPath: path, contents: Data("{}".utf8), attributes: [.posixPermissions: 0o666]) },
            { _ = FileManager.default.createFile(atPath: path, contents: Data("garbage".utf8), attributes: [.posixPermissions: 0o600]) },
            { _ = FileManager.default.createFile(atPath: path, contents: Data(count: 9 << 20), attributes: [.posixPermissions: 0o600]) },
        ]
        for intrude in intruders {
            try intrude()
            let service = try service()
            #expect(service.configuration.version == 1)
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try mode(name + ".refused") >= 0)
            try FileManager.default.removeItem(atPath: path + ".refused")
        }
        #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
    }

    @Test("a folder that cannot be written is an error to whoever stores")
    func unwritable() throws {
        // /proc takes no files, whoever asks.
        let store = FileConfigurationStore(directory: URL(filePath: "/proc/approov-test"))
        #expect(throws: (any Error).self) { try store.store([1]) }
    }

    @Test("what a killed writer left behind is gone after the next update")
    func leftovers() async throws {
        let leftover = folder.path("approov-dynamic.json.abc123.tmp")
        #expect(FileManager.default.createFile(atPath: leftover, contents: Data("half a configurat".utf8)))
        #expect(try service().configuration.version == 1)
        try store.withExclusiveAccess { try store.store([1]) }
        #expect(!FileManager.default.fileExists(atPath: leftover))
        #expect(try store.read() == [1])
    }

    @Test("one process at a time has the lock")
    func lock() async throws {
        let store = store
        let inside = Shared(0)
        let seen = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<20 {
                        try? store.withExclusiveAccess {
                            let now = inside.change {
                                $0 += 1
                                return $0
                            }
                            seen.change { $0 = max($0, now) }
                            inside.change { $0 -= 1 }
                        }
                    }
                }
            }
        }
        #expect(seen.value == 1)
    }
}
