import ApproovTesting
import Foundation
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

    @Test("a folder is made with mode 0700 and every file in it with mode 0600")
    func modes() async throws {
        let directory = try TemporaryFolder()
        let data = directory.url.appending(path: "a/data")
        let store = try AuthorityStore(directory: data)
        try await store.addRegistration(TestAccount.measurement, label: "test")
        #expect(try mode(data.path) == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: data.path)
        #expect(files.contains("authority.sqlite-wal"))
        for file in files {
            #expect(try mode(data.appending(path: file).path) == 0o600)
        }
    }

    @Test("a folder that others can write is refused", arguments: [0o770, 0o702, 0o777])
    func openFolder(mode: Int) async throws {
        let directory = try TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory.url.path)
        await refusesStore(.storeInsecure, directory.url)
    }

    @Test(
        "a folder that belongs to another user is refused, with the remedy, and nothing is put into it",
        .enabled(if: geteuid() == 0, "only root can give a folder away"))
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

    @Test("a database that others can read is refused", arguments: ["authority.sqlite", "authority.sqlite-wal"])
    func openFile(name: String) async throws {
        let directory = try TemporaryFolder()
        let path = directory.url.appending(path: name).path
        #expect(FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o640]))
        await refusesStore(.storeInsecure, directory.url)
    }

    @Test("a file where the folder should be is refused")
    func file() async throws {
        let directory = try TemporaryFolder()
        let path = directory.url.appending(path: "file")
        #expect(FileManager.default.createFile(atPath: path.path, contents: Data()))
        await refusesStore(.storeUnusable, path)
    }

    @Test("a symbolic link, a folder or a FIFO where the database should be is refused without a hang")
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

    @Test("a URL that is no file is refused")
    func notAFile() async throws {
        await refusesStore(.storeUnusable, try #require(URL(string: "https://example.com/data")))
    }
}
