import ApproovTesting
import Foundation
import Glibc
import Synchronization
import Testing

@testable import ApproovBase

@Suite struct PrivateFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var file: PrivateFile { PrivateFile(path: folder.path("file")) }

    private func file(_ change: (inout FileSystemCalls) -> Void) -> PrivateFile {
        var system = FileSystemCalls()
        change(&system)
        return PrivateFile(path: folder.path("file"), system: system)
    }

    @Test("Written bytes read back, each write replaces the whole file, and the file has mode 0600")
    func roundTrip() throws {
        #expect(try file.read(upTo: 10) == nil)
        for content in [[1, 2, 3], [], [UInt8](repeating: 9, count: 300_000)] as [[UInt8]] {
            try file.write(content)
            #expect(try file.read(upTo: 300_000) == content)
        }
        #expect(try folder.names == ["file"])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("file"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("A file that others can use is read only if signed, until makePrivate() fixes its mode; a link is rejected")
    func othersFile() throws {
        #expect(try file.makePrivate() == nil)
        try file.write([1])
        #expect(try file.makePrivate() == nil)
        for mode in [0o644, 0o666, 0o604] as [mode_t] {
            #expect(chmod(file.path, mode) == 0)
            let error = try #require(throws: FileError.self) { try file.read(upTo: 10) }
            #expect(error.code == .fileUnsafe && error.message.contains("chmod 600"))
            #expect(try file.read(upTo: 10, isSigned: true) == [1])
            #expect(try file.makePrivate() == mode)
            #expect(try file.read(upTo: 10) == [1])
        }
        #expect(symlink("/etc/passwd", folder.path("link")) == 0)
        #expect(throws: FileError.self) { try PrivateFile(path: folder.path("link")).makePrivate() }
    }

    @Test("A folder that others can write to is flawed; one that others can only list, or a missing one, is not")
    func folders() throws {
        for (mode, isFlawed) in [(0o700, false), (0o755, false), (0o770, true), (0o777, true), (0o1777, true), (0o702, true)]
            as [(mode_t, Bool)]
        {
            #expect(chmod(folder.path, mode) == 0)
            #expect((PrivateFile.flaw(ofFolder: folder.path) != nil) == isFlawed)
        }
        #expect(chmod(folder.path, 0o700) == 0)
        #expect(PrivateFile.flaw(ofFolder: folder.path("missing")) == nil)
    }

    @Test("A file that is one byte larger than the limit is rejected")
    func limit() throws {
        try file.write([1, 2, 3])
        #expect(try file.read(upTo: 3) == [1, 2, 3])
        #expect(code { try file.read(upTo: 2) } == .tooLarge)
    }

    @Test("A sparse file of 2 GiB is rejected")
    func huge() throws {
        try file.write([])
        #expect(truncate(file.path, 2 << 30) == 0)
        #expect(code { try file.read(upTo: 1_000) } == .tooLarge)
    }

    @Test("Short and interrupted writes are continued until all bytes are written")
    func shortWrites() throws {
        let calls = Mutex(0)
        let slow = file {
            $0.write = { descriptor, bytes, count in
                let call = calls.withLock {
                    $0 += 1
                    return $0
                }
                guard call % 3 != 0 else {
                    errno = EINTR
                    return -1
                }
                return Glibc.write(descriptor, bytes, min(count, 7))
            }
        }
        let content = (0..<200).map { UInt8($0) }
        try slow.write(content)
        #expect(try file.read(upTo: 1_000) == content)
        #expect(calls.withLock { $0 } > 28)
    }

    @Test("A failed write reports its reason, keeps the old content and leaves no temporary file behind")
    func failures() throws {
        try file.write([1])
        let failing: [(String, (inout FileSystemCalls) -> Void)] = [
            (
                "No space left",
                {
                    $0.write = { _, _, _ in
                        errno = ENOSPC; return -1
                    }
                }
            ),
            ("Input/output error", { $0.write = { _, _, _ in 0 } }),
            (
                "Disk quota exceeded",
                {
                    let written = Mutex(false)
                    $0.write = { descriptor, bytes, _ in
                        guard
                            written.withLock({
                                let was = $0; $0 = true; return !was
                            })
                        else { errno = EDQUOT; return -1 }
                        return Glibc.write(descriptor, bytes, 1)
                    }
                }
            ),
            (
                "Input/output error",
                {
                    $0.fsync = { _ in
                        errno = EIO; return -1
                    }
                }
            ),
            (
                "Permission denied",
                {
                    $0.rename = { _, _ in
                        errno = EACCES; return -1
                    }
                }
            ),
            (
                "Read-only file system",
                {
                    $0.rename = { _, _ in
                        errno = EROFS; return -1
                    }
                }
            ),
        ]
        for (reason, change) in failing {
            let error = try #require(throws: FileError.self, "\(reason)") { try file(change).write([2, 2, 2]) }
            #expect(error.code == .fileWriteFailed)
            #expect(error.message.contains(reason), "\(error)")
            #expect(error.message.contains(file.path))
            #expect(try file.read(upTo: 10) == [1])
            #expect(try folder.names == ["file"])
        }
        // The next write succeeds.
        try file.write([3])
        #expect(try file.read(upTo: 10) == [3])
    }

    @Test("A write to /dev/full fails and leaves no file behind", .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/full")))
    func devFull() throws {
        let full = file {
            $0.write = { _, bytes, count in
                let descriptor = open("/dev/full", O_WRONLY)
                defer { close(descriptor) }
                return Glibc.write(descriptor, bytes, count)
            }
        }
        #expect(code { try full.write([1]) } == .fileWriteFailed)
        #expect(try folder.names == [])
    }

    @Test("A folder at the file's path is an error; in a missing folder a write fails and a read returns nil")
    func wrongPlace() throws {
        #expect(mkdir(folder.path("file"), 0o700) == 0)
        #expect(code { try file.write([1]) } == .fileWriteFailed)
        #expect(code { try file.read(upTo: 1) } == .fileUnsafe)
        #expect(try folder.names == ["file"])
        let nowhere = PrivateFile(path: folder.path("missing/file"))
        #expect(code { try nowhere.write([1]) } == .fileWriteFailed)
        #expect(try nowhere.read(upTo: 1) == nil)
    }

    @Test("A write replaces a symbolic link, which a read rejects, and leaves the link's target unchanged")
    func link() throws {
        try Data([7]).write(to: folder.url.appending(path: "target"))
        #expect(symlink(folder.path("target"), file.path) == 0)
        #expect(code { try file.read(upTo: 10) } == .fileUnsafe)
        try file.write([1])
        #expect(try Data(contentsOf: folder.url.appending(path: "target")) == Data([7]))
        #expect(try file.read(upTo: 10) == [1])
    }

    @Test("A FIFO is rejected without waiting for a writer")
    func fifo() throws {
        #expect(mkfifo(file.path, 0o600) == 0)
        #expect(code { try file.read(upTo: 10) } == .fileUnsafe)
    }

    @Test("A socket is rejected")
    func socket() throws {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let short = "/tmp/s\(UInt32.random(in: 0 ... .max))"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(short.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        #expect(bound == 0)
        defer { unlink(short) }
        #expect(code { try PrivateFile(path: short).read(upTo: 10) } == .fileUnsafe)
    }

    @Test("A file that others can use is rejected, and the error names its mode", arguments: [0o644, 0o660, 0o601])
    func modes(mode: Int) throws {
        try file.write([1])
        #expect(chmod(file.path, mode_t(mode)) == 0)
        let error = try #require(throws: FileError.self) { try file.read(upTo: 10) }
        #expect(error.code == .fileUnsafe)
        #expect(error.message.contains(String(mode, radix: 8)))
    }

    @Test("When 32 tasks create the same file at once, one succeeds and the file holds a single task's content")
    func create() async throws {
        let path = file.path
        let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
            for value in 0..<32 { group.addTask { try PrivateFile(path: path).create([UInt8](repeating: UInt8(value), count: 1_000)) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wins == 1)
        #expect(Set(try #require(try file.read(upTo: 1_000))).count == 1)
        #expect(try folder.names == ["file"])
    }

    /// The file, whose folder cannot be synchronised the first time.
    private var unsynchronised: PrivateFile {
        let calls = Mutex(0)
        return file({ system in
            system.fsync = { descriptor in
                let count = calls.withLock {
                    $0 += 1
                    return $0
                }
                // The first call is for the file, the second one for its folder.
                guard count == 2 else { return Glibc.fsync(descriptor) }
                errno = EIO
                return -1
            }
        })
    }

    @Test("A file that is made stays when its folder cannot be synchronised: another process may use it already")
    func createUnsynchronised() throws {
        let failing = unsynchronised
        let error = try #require(throws: FileError.self) { try failing.create([1]) }
        #expect(error.code == .fileWriteFailed && error.message.contains("was changed") && error.message.contains("Input/output"))
        #expect(try file.read(upTo: 10) == [1])
        #expect(try !failing.create([2]))
    }

    @Test("On demand, a file whose folder cannot be synchronised is removed, and can be made later")
    func removeUnsynchronised() throws {
        let failing = unsynchronised
        let error = try #require(throws: FileError.self) { try failing.create([1], removingUnsynchronised: true) }
        #expect(error.code == .fileWriteFailed && error.message.contains("cannot be made") && error.message.contains("Input/output"))
        #expect(try folder.names.isEmpty)
        #expect(try failing.create([2], removingUnsynchronised: true))
        #expect(try file.read(upTo: 10) == [2])
    }

    @Test("A reader sees one write's whole content while two tasks replace the file")
    func readersAndWriter() async throws {
        let path = file.path
        try file.write([UInt8](repeating: 0, count: 5_000))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    for round in 0..<100 {
                        try PrivateFile(path: path).write([UInt8](repeating: UInt8(writer * 100 + round), count: 5_000))
                    }
                }
            }
            group.addTask {
                for _ in 0..<1_000 {
                    let content = try #require(try PrivateFile(path: path).read(upTo: 5_000))
                    #expect(content.count == 5_000)
                    #expect(Set(content).count == 1)
                }
            }
            try await group.waitForAll()
        }
        #expect(try folder.names == ["file"])
    }

    @Test("Temporary files of killed writers are removed once they are old enough, and no other file is")
    func leftovers() throws {
        let others = [
            "file", "file.backup.tmp.old", "file.with-minus.tmp", "other.abc123.tmp", "file.abc123.tmp.keep", "file..tmp", "filex.abc.tmp",
        ]
        for name in others + ["file.abc123.tmp", "file.0.tmp"] {
            #expect(FileManager.default.createFile(atPath: folder.path(name), contents: nil))
        }
        try FileManager.default.createDirectory(atPath: folder.path("file.f01der.tmp"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder.path("file.11nk.tmp"), withDestinationPath: folder.path("file"))
        let all = try folder.names
        file.removeLeftovers(unchangedFor: 60)
        #expect(try folder.names == all)
        file.removeLeftovers(unchangedFor: 0)
        #expect(try folder.names == all.filter { $0 != "file.abc123.tmp" && $0 != "file.0.tmp" })
        PrivateFile(path: "/proc/none/file").removeLeftovers(unchangedFor: 0)
    }

    @Test("A temporary file from the future, as after the clock was set back, is removed only where any age will do")
    func futureLeftovers() throws {
        #expect(FileManager.default.createFile(atPath: folder.path("file.abc123.tmp"), contents: nil))
        try FileManager.default.setAttributes([.modificationDate: Date() + 86_400], ofItemAtPath: folder.path("file.abc123.tmp"))
        file.removeLeftovers(unchangedFor: 60)
        #expect(try folder.names == ["file.abc123.tmp"])
        file.removeLeftovers(unchangedFor: 0)
        #expect(try folder.names.isEmpty)
    }

    @Test("A folder and its missing parents are created with mode 0700, and an existing folder keeps its mode", arguments: ["", "/"])
    func makeFolder(end: String) throws {
        let path = folder.path("a/b/c") + end
        try PrivateFile.makeFolder(path: path)
        for path in ["a", "a/b", "a/b/c"].map(folder.path) {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
        }
        #expect(chmod(folder.path("a/b/c"), 0o755) == 0)
        try PrivateFile.makeFolder(path: path)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path("a/b/c"))[.posixPermissions] as? Int == 0o755)
    }

    @Test("The error for a folder that cannot be created names the path, the reason and the remedy")
    func impossibleFolder() throws {
        try file.write([1])
        for path in [file.path, file.path + "/"] {
            let error = #expect(throws: FileError.self) { try PrivateFile.makeFolder(path: path) }
            #expect(error?.description == "fileWriteFailed: \(file.path) is not a folder; name another one, or move the file away")
        }
        let below = file.path + "/b/c"
        let error = #expect(throws: FileError.self) { try PrivateFile.makeFolder(path: below) }
        let message = "fileWriteFailed: the folder \(below) cannot be made: Not a directory; name another one, or make it: install -d"
        #expect(error?.description == message + " -m 700 -o USER \(below)")
    }

    @Test("A file that is set aside replaces the one set aside earlier; without a file nothing happens")
    func setAside() throws {
        try file.setAside(suffix: ".refused")
        for content in [1, 2] as [UInt8] {
            try file.write([content])
            try file.setAside(suffix: ".refused")
            #expect(try folder.names == ["file.refused"])
            #expect(try PrivateFile(path: file.path + ".refused").read(upTo: 1) == [content])
        }
    }

    private func code(_ body: () throws -> some Any) -> FileError.Code? {
        (#expect(throws: FileError.self) { _ = try body() })?.code
    }
}
