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
            attester: ScriptedAttester(), transport: InProcessTransport(status: 500), clock: ManualClock(), logger: .silent)
    }

    private func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
        return try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
    }

    @Test("Stored bytes are read back; the file has mode 0600, and the folder that the store creates has mode 0700")
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

    @Test("A folder, FIFO, link or invalid file in the configuration's place is set aside, and the initial one is used")
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

    @Test(
        "A valid stored configuration whose file mode is too open is used, gets mode 0600 again and is reported",
        arguments: [0o644, 0o666, 0o604, 0o660])
    func wrongMode(mode: Int) async throws {
        let name = "approov-dynamic.json"
        try store.store(account.signed(account.configuration(version: 7)).serialized)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path(name))
        var service: ApproovService? = try service()
        #expect(service?.configuration.version == 7)
        #expect(try self.mode(name) == 0o600)
        #expect(try !folder.names.contains(name + ".refused"))
        let events = try #require(service).configurationEvents()
        service = nil
        var messages: [String] = []
        for await event in events { if case .exposed(let error) = event { messages.append(error.message) } }
        #expect(messages.count == 1)
        #expect(messages.first?.contains("mode \(String(mode, radix: 8))); its mode is 600 now") == true, "\(messages)")
    }

    @Test(
        "A folder that other users can write to is reported with the remedy; one that they can only read is not",
        arguments: [0o777, 0o770, 0o755])
    func openFolder(mode: Int) async throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path)
        var service: ApproovService? = try service()
        let events = try #require(service).configurationEvents()
        service = nil
        var messages: [String] = []
        for await event in events { if case .exposed(let error) = event { messages.append(error.message) } }
        #expect(messages.count == (mode == 0o755 ? 0 : 1), "\(messages)")
        #expect(messages.allSatisfy { $0.contains(folder.path) && $0.contains("chmod 700") })
    }

    @Test("The store throws if it cannot write to its folder")
    func unwritable() throws {
        // Even root cannot create files in /proc.
        let store = FileConfigurationStore(directory: URL(filePath: "/proc/approov-test"))
        #expect(throws: (any Error).self) { try store.store([1]) }
    }

    @Test("The next start and the next update remove a killed writer's temporary file, and no other file")
    func leftovers() async throws {
        func leave(_ name: String) -> Bool {
            FileManager.default.createFile(atPath: folder.path(name), contents: Data("half a configurat".utf8))
        }
        let leftover = "approov-dynamic.json.abc123.tmp"
        let anothers = "approov-dynamic.json.backup of mine.tmp"
        #expect(leave(leftover) && leave(anothers))
        #expect(try service().configuration.version == 1)
        #expect(try folder.names == [anothers, "approov-dynamic.lock"])
        #expect(leave(leftover))
        try store.withExclusiveAccess { try store.store([1]) }
        #expect(try !folder.names.contains(leftover))
        #expect(try store.read() == [1])
    }

    @Test("A start does not remove a temporary file that another process is writing")
    func writtenNow() async throws {
        let held = try HeldLock(folder.path(FileConfigurationStore.lockFileName))
        #expect(FileManager.default.createFile(atPath: folder.path("approov-dynamic.json.abc123.tmp"), contents: Data()))
        #expect(try service().configuration.version == 1)
        #expect(try folder.names.contains("approov-dynamic.json.abc123.tmp"))
        held.release()
    }

    @Test("Only one caller at a time holds the lock")
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
