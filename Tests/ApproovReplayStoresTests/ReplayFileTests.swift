import ApproovBase
import ApproovTesting
import ApproovTokenCheck
import Foundation
import Testing

@testable import ApproovReplayStores

@Suite struct ReplayFileTests {
    private struct FillError: Error {}

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func code(_ body: () throws -> Void) -> ReplayStoreError.Code? {
        (#expect(throws: ReplayStoreError.self) { try body() })?.code
    }

    @Test("A relative path becomes absolute, and a path that is empty or has a NUL is refused")
    func paths() throws {
        #expect(try ReplayFile(path: "x.sqlite").path == FileManager.default.currentDirectoryPath + "/x.sqlite")
        #expect(try ReplayFile(path: "/tmp/a b/%41.sqlite").path == "/tmp/a b/%41.sqlite")
        for path in ["", "/tmp/a\0b"] { #expect(code { _ = try ReplayFile(path: path) } == .storeUnusable) }
    }

    @Test("The folder is made, and one that others can write to is refused with the remedy")
    func folders() throws {
        try ReplayFile(path: folder.path("a/b/x.sqlite")).makeFolder()
        #expect(FileStatus(folder.path("a/b"))?.permissions == 0o700)
        chmod(folder.path("a/b"), 0o777)
        let error = #expect(throws: ReplayStoreError.self) { try ReplayFile(path: folder.path("a/b/x.sqlite")).makeFolder() }
        #expect(error?.code == .storeInsecure && error?.message.contains("chmod 700") == true)
        try folder.write("", to: "file")
        #expect(code { try ReplayFile(path: folder.path("file/x.sqlite")).makeFolder() } == .storeUnusable)
    }

    @Test("A file is made completely, with mode 0600, or not at all")
    func making() throws {
        let file = try ReplayFile(path: folder.path("x.sqlite"))
        #expect(try file.checked() == nil && file.inode == nil)
        try folder.write("left by a process that was killed", to: "x.sqlite.new")
        #expect(throws: FillError.self) {
            try file.make { path in
                try Data("half".utf8).write(to: URL(filePath: path))
                throw FillError()
            }
        }
        #expect(try folder.names == ["x.sqlite.lock"])
        try file.make { path in
            #expect(FileStatus(path)?.permissions == 0o600)
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.write(contentsOf: Data("whole".utf8))
        }
        #expect(try folder.names == ["x.sqlite", "x.sqlite.lock"] && folder.text("x.sqlite") == "whole")
        #expect(try file.checked() == file.inode && file.inode != nil)
        // Another process was first.
        try file.make { _ in Issue.record("made twice") }
        #expect(FileStatus(folder.path("x.sqlite"))?.permissions == 0o600)
    }

    @Test("A file, or one beside it, that others can access or that is not regular is refused")
    func unsafe() throws {
        let file = try ReplayFile(path: folder.path("x.sqlite"))
        for name in ["x.sqlite", "x.sqlite-wal", "x.sqlite-shm"] {
            chmod(try folder.write("x", to: "x.sqlite"), 0o600)
            chmod(try folder.write("x", to: name), 0o640)
            let error = #expect(throws: ReplayStoreError.self) { try file.checked() }
            #expect(error?.code == .storeInsecure && error?.message.contains("chmod 600 \(folder.path(name))") == true)
            try FileManager.default.removeItem(at: folder.file(name))
            try FileManager.default.createSymbolicLink(at: folder.file(name), withDestinationURL: folder.file("elsewhere"))
            #expect(code { _ = try file.checked() } == .storeUnusable)
            try FileManager.default.removeItem(at: folder.file(name))
        }
    }

    @Test("An empty file, or a write-ahead log without its database, is a damaged store")
    func damaged() throws {
        let file = try ReplayFile(path: folder.path("x.sqlite"))
        chmod(try folder.write("log", to: "x.sqlite-wal"), 0o600)
        #expect(code { _ = try file.checked() } == .storeDamaged)
        try FileManager.default.removeItem(at: folder.file("x.sqlite-wal"))
        chmod(try folder.write("", to: "x.sqlite"), 0o600)
        #expect(code { _ = try file.checked() } == .storeDamaged)
    }
}
