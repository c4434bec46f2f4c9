import ApproovBase
import ApproovTesting
import Foundation
import Glibc
import Testing

@Suite struct ReadableFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func content(of file: borrowing ReadableFile, by size: Int) -> [UInt8]? {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            guard let count = buffer.withUnsafeMutableBytes({ file.read(into: $0) }) else { return nil }
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }

    @Test("A file is read in pieces to its end, and reports its kind and size", arguments: [1, 7, 64])
    func reads(size: Int) throws {
        let bytes = Array("some content of a file".utf8)
        let path = try folder.write(String(decoding: bytes, as: UTF8.self), to: "file")
        guard let file = ReadableFile(path) else { throw CocoaError(.fileNoSuchFile) }
        let (status, read) = (file.status, content(of: file, by: size))
        #expect(status?.isRegular == true && status?.size == bytes.count)
        #expect(read == bytes)
    }

    @Test("Opening a FIFO without a writer does not block, and reading a folder fails")
    func special() throws {
        let path = folder.url.appending(path: "fifo").path
        try #require(mkfifo(path, 0o600) == 0)
        if let fifo = ReadableFile(path) {
            let status = fifo.status
            #expect(status?.isRegular == false)
        } else {
            Issue.record("the FIFO cannot be opened")
        }
        if let opened = ReadableFile(folder.path) {
            let read = content(of: opened, by: 8)
            #expect(read == nil)
        }
    }

    @Test("A missing file is not opened, and a link is opened only if links may be followed")
    func refused() throws {
        let missing = ReadableFile(folder.url.appending(path: "missing").path) == nil
        #expect(missing)
        let path = try folder.write("x", to: "target")
        let link = folder.url.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let (followed, refused) = (ReadableFile(link) != nil, ReadableFile(link, followsLink: false) == nil)
        #expect(followed && refused)
    }
}
