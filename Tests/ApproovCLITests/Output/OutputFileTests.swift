import ApproovBase
import ApproovTesting
import Foundation
import Glibc
import Testing

@testable import ApproovCLI

@Suite struct OutputFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("A new file gets the content")
    func new() throws {
        try OutputFile(path: folder.path("new")).write(Data("content".utf8))
        #expect(try folder.text("new") == "content")
    }

    @Test("A file, a link, a pipe or a folder that exists is not replaced, and the error names it")
    func existing() throws {
        _ = try folder.write("own", to: "file")
        for (link, target) in [("link", "file"), ("dangling", "nothing")] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(link), withDestinationPath: folder.path(target))
        }
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        let paths = ["file", "link", "dangling", "pipe"].map(folder.path) + [folder.path]
        for path in paths {
            let failure = #expect(throws: CommandFailure.self) { try OutputFile(path: path).write(Data("new".utf8)) }
            let reason = path.hasSuffix("/file") ? "with other content" : "and is not a file"
            #expect(failure?.message?.hasPrefix("\(path) exists \(reason), and is not replaced") == true)
        }
        #expect(try folder.text("file") == "own" && folder.names.sorted() == ["dangling", "file", "link", "pipe"])
        let pipe = try #require(FileStatus(folder.path("pipe")))
        #expect(!pipe.isRegular && !pipe.isFolder)
    }

    @Test("A file that is empty, or whose content may be replaced, is replaced, but not through a link")
    func replaced() throws {
        for old in ["", "new", "the old content"] {
            _ = try folder.write(old, to: "file")
            try OutputFile(path: folder.path("file")) { $0 == Array("the old content".utf8) }.write(Data("new".utf8))
            #expect(try folder.text("file") == "new")
        }
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: folder.path("file"))
        #expect(throws: CommandFailure.self) { try OutputFile(path: folder.path("link")) { _ in true }.write(Data("newer".utf8)) }
        #expect(try folder.text("file") == "new")
    }

    @Test("A folder that does not exist is an error that names the file")
    func missingFolder() {
        let path = folder.path("missing/new")
        let failure = #expect(throws: CommandFailure.self) { try OutputFile(path: path).write(Data()) }
        #expect(failure?.message == "\(path) cannot be written, because its folder does not exist; make the folder first")
    }
}
