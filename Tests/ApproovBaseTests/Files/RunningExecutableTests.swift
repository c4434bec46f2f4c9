import ApproovBase
import ApproovTesting
import Foundation
import Glibc
import Testing

/// The kernel writes the links of open files as it writes the one of the running executable.
@Suite struct RunningExecutableTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(of file: FileHandle) -> String { RunningExecutable.path(ofLink: "/proc/self/fd/\(file.fileDescriptor)") }

    @Test("The path is that of the running executable")
    func running() throws {
        let status = try #require(FileStatus(RunningExecutable.path, followsLink: false))
        #expect(status == FileStatus("/proc/self/exe"))
    }

    @Test("The path stays the same when another file takes the place of the first one, and when the file is removed")
    func replaced() throws {
        let name = try folder.write("old", to: "app")
        let file = try FileHandle(forReadingFrom: folder.file("app"))
        let before = path(of: file)
        #expect(before.hasSuffix("/app"))
        let upgrade = try folder.write("new", to: "app.new")
        try #require(rename(upgrade, name) == 0)
        #expect(path(of: file) == before)
        try #require(unlink(name) == 0)
        #expect(path(of: file) == before)
    }

    @Test("A file whose own name ends like the mark of a removed one keeps its name")
    func namedLikeTheMark() throws {
        let name = try folder.write("x", to: "app (deleted)")
        let file = try FileHandle(forReadingFrom: folder.file("app (deleted)"))
        #expect(path(of: file).hasSuffix("/app (deleted)"))
        try #require(unlink(name) == 0)
        #expect(path(of: file).hasSuffix("/app (deleted)"))
    }

    @Test("A link that cannot be read stands for itself")
    func unreadable() { #expect(RunningExecutable.path(ofLink: folder.path("missing")) == folder.path("missing")) }
}
