import ApproovTesting
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct StoreDirectoryTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    private func refusesStore(_ code: AuthorityError.Code, _ directory: URL) async {
        await refuses(code) { _ = try AuthorityStore(directory: directory) }
    }

    @Test("A store's folder is created with mode 0700, and every file in it with mode 0600")
    func modes() async throws {
        let directory = try TemporaryFolder()
        let data = directory.url.appending(path: "a/data")
        let store = try AuthorityStore(directory: data)
        try await store.addRegistration(AuthorityBench.measurement, label: "test")
        #expect(try mode(data.path) == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: data.path)
        #expect(files.contains("authority.sqlite-wal"))
        for file in files {
            #expect(try mode(data.appending(path: file).path) == 0o600)
        }
    }

    @Test("A folder that others can write to is rejected", arguments: [0o770, 0o702, 0o777])
    func openFolder(mode: Int) async throws {
        let directory = try TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory.url.path)
        await refusesStore(.storeInsecure, directory.url)
    }

    @Test(
        "A folder of another user is rejected with the remedy, and no file is written into it",
        .enabled(if: geteuid() == 0, "only root can change a folder's owner"))
    func foreignFolder() async throws {
        let directory = try TemporaryFolder()
        let data = directory.url.appending(path: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try #require(chown(data.path, 65_534, 65_534) == 0)
        let error = #expect(throws: AuthorityError.self) { try AuthorityStore(directory: data) }
        #expect(error?.code == .storeInsecure)
        #expect(error?.message.contains("belongs to another user; run as its owner") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: data.path).isEmpty)
        try #require(chown(data.path, 0, 0) == 0)
        _ = try AuthorityStore(directory: data)
    }

    @Test("A database or write-ahead log that others can read is rejected", arguments: ["authority.sqlite", "authority.sqlite-wal"])
    func openFile(name: String) async throws {
        let directory = try TemporaryFolder()
        let path = directory.url.appending(path: name).path
        #expect(FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o640]))
        await refusesStore(.storeInsecure, directory.url)
    }

    @Test("A file in the place of the folder is rejected")
    func file() async throws {
        let directory = try TemporaryFolder()
        let path = directory.url.appending(path: "file")
        #expect(FileManager.default.createFile(atPath: path.path, contents: Data()))
        await refusesStore(.storeUnusable, path)
    }

    @Test("A symbolic link, a folder or a FIFO in the place of the database is rejected without a hang")
    func oddities() async throws {
        let link = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: link.url.appending(path: StoreDirectory.databaseName).path, withDestinationPath: "/tmp/elsewhere")
        await refusesStore(.storeUnusable, link.url)
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: StoreDirectory.databaseName), withIntermediateDirectories: false)
        await refusesStore(.storeUnusable, folder.url)
        let fifo = try TemporaryFolder()
        #expect(mkfifo(fifo.url.appending(path: StoreDirectory.databaseName).path, 0o600) == 0)
        await refusesStore(.storeUnusable, fifo.url)
    }

    @Test("A URL that is not a file URL is rejected")
    func notAFile() async throws {
        await refusesStore(.storeUnusable, try #require(URL(string: "https://example.com/data")))
    }

    @Test("An empty database is rejected with the remedy and stays empty, so it becomes no new account", arguments: StoreAccess.all)
    func emptyFile(access: StoreAccess) async throws {
        let directory = try TemporaryFolder()
        let path = directory.path(StoreDirectory.databaseName)
        #expect(FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o600]))
        let error = #expect(throws: AuthorityError.self) { try AuthorityStore(directory: directory.url, access: access) }
        #expect(error?.code == .storeDamaged)
        #expect(error?.message.contains("is empty") == true && error?.message.contains("restore it from a backup") == true)
        #expect(FileManager.default.contents(atPath: path) == Data())
    }

    @Test("A database without tables, or with other tables, is rejected and stays unchanged", arguments: ["", "CREATE TABLE other (x)"])
    func foreignDatabase(sql: String) async throws {
        let directory = try TemporaryFolder()
        let path = directory.path(StoreDirectory.databaseName)
        let queue = try DatabaseQueue(path: path)
        try await queue.write { try $0.execute(sql: "PRAGMA user_version = 0; CREATE TABLE made (x); DROP TABLE made;" + sql) }
        try queue.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let before = FileManager.default.contents(atPath: path)
        for access in StoreAccess.all {
            let error = #expect(throws: AuthorityError.self) { try AuthorityStore(directory: directory.url, access: access) }
            #expect(error?.code == .storeDamaged)
        }
        #expect(FileManager.default.contents(atPath: path) == before)
    }

    @Test("A write-ahead log without its database is rejected, because it would be replayed into a new store")
    func orphanedLog() async throws {
        let directory = try TemporaryFolder()
        let path = directory.path("authority.sqlite-wal")
        #expect(FileManager.default.createFile(atPath: path, contents: Data(count: 32), attributes: [.posixPermissions: 0o600]))
        let error = #expect(throws: AuthorityError.self) { try AuthorityStore(directory: directory.url) }
        #expect(error?.code == .storeDamaged && error?.message.contains("its write-ahead log exists") == true)
        #expect(try directory.names.contains("authority.sqlite-wal"))
    }

    @Test("Opening a missing store to read or change it fails and creates no file", arguments: [StoreAccess.reading, .changing])
    func missing(access: StoreAccess) async throws {
        let directory = try TemporaryFolder()
        let error = #expect(throws: AuthorityError.self) { try AuthorityStore(directory: directory.file("data"), access: access) }
        #expect(error?.code == .storeMissing)
        #expect(error?.message.contains(directory.path("data")) == true && error?.message.contains("--data") == true)
        #expect(throws: AuthorityError.self) { try AuthorityStore(directory: directory.url, access: access) }
        #expect(try directory.names.isEmpty)
    }

    @Test("A failed creation leaves no store, and remains of a killed process do not prevent the next creation")
    func unfinished() async throws {
        let directory = try TemporaryFolder()
        await refuses(.malformedAccount) { _ = try AuthorityStore(directory: directory.url, seed: AccountSeed(account: "")) }
        #expect(try directory.names == ["authority.lock"])
        try directory.write("half", to: "authority.sqlite.new")
        try directory.write("half", to: "authority.sqlite.new-journal")
        let store = try AuthorityStore(directory: directory.url)
        #expect(store.isNew)
        #expect(try directory.names.filter { $0.contains("new") }.isEmpty)
        #expect(try !AuthorityStore(directory: directory.url).isNew)
    }

    @Test("When 20 tasks create the same store at once, one creates it and all get its account")
    func race() async throws {
        let directory = try TemporaryFolder()
        let stores = try await withThrowingTaskGroup(of: AuthorityStore.self) { group in
            for _ in 0..<20 { group.addTask { try AuthorityStore(directory: directory.url) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(stores.count == 20)
        #expect(stores.filter(\.isNew).count == 1)
        #expect(Set(stores.map(\.account)).count == 1)
    }
}

extension StoreAccess {
    /// Every kind of access to a store.
    static let all = [StoreAccess.reading, .changing, .making]
}
