import ApproovTesting
import Foundation
import HTTPTypes
import TestTags
import Testing

/// A part from a file takes no memory, whatever its size.
///
/// `APPROOV_UPLOAD_BYTES` sets the size of the file, such as 4294967296; without it, 64 MiB. `APPROOV_UPLOAD_PAUSE` sets for how many seconds
/// the upload is suspended in the middle, such as 30; without it, 1.
@Suite(.tags(.sockets, .processes), .timeLimit(.minutes(30)))
struct MultipartMemoryTests {
    /// Follows the content of a file that consists of numbered blocks, in a form that has a part before it.
    private struct BlockReader {
        static let size = 65_536

        /// The number of blocks that came in order, each once, from the first on.
        private(set) var count = 0
        private var isInFile = false
        private var isOver = false
        private var pending: [UInt8] = []

        /// The bytes that no other block begins with.
        static func beginning(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number + 1).bigEndian) { Array($0) } }

        /// A block: its beginning, and zeros.
        private static func block(_ number: Int) -> Data { Data(beginning(number)) + Data(count: size - 8) }

        mutating func take(_ piece: [UInt8]) {
            guard !isOver else { return }
            pending += piece
            if !isInFile {
                // An empty line ends the header of the part before the file, and another one that of the file.
                let lines = pending.ranges(of: Array("\r\n\r\n".utf8))
                guard lines.count >= 2 else { return }
                pending.removeSubrange(..<lines[1].upperBound)
                isInFile = true
            }
            while pending.count >= Self.size {
                guard Data(pending.prefix(Self.size)) == Self.block(count) else {
                    isOver = true
                    return
                }
                count += 1
                pending.removeFirst(Self.size)
            }
        }
    }

    @Test("A process that uploads a large file as a part, suspended in the middle, sends all of it in order, and grows by at most 16 MiB")
    func file() async throws {
        let environment = ProcessInfo.processInfo.environment
        let size = environment["APPROOV_UPLOAD_BYTES"].flatMap { Int($0) } ?? 64 << 20
        let folder = try TemporaryFolder()
        let path = try folder.write("", to: "large")
        // Most of the file is holes, which take no room on the disk.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        for number in 0..<size / BlockReader.size {
            try file.seek(toOffset: UInt64(number * BlockReader.size))
            try file.write(contentsOf: BlockReader.beginning(number))
        }
        try file.close()
        #expect(truncate(path, off_t(size)) == 0)
        let (received, blocks) = (Shared(0), Shared(0))
        let declared = Shared("")
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            var count = 0
            var reader = BlockReader()
            for try await piece in request.body {
                count += piece.count
                reader.take(piece)
            }
            if request.path == "/form" {
                received.value = count
                blocks.value = reader.count
                declared.value = request.headerFields[.contentLength] ?? ""
            }
            return TestResponse()
        }
        let run = try await ChildProcess.run(
            ChildProcess.beside("upload-meter"), [server.url, path, environment["APPROOV_UPLOAD_PAUSE"] ?? "1"])
        await server.stop()
        try #require(run.exitCode == 0, "\(run.errors)")
        let numbers = run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(numbers.count == 3)
        #expect(numbers[0] == 200)
        #expect(numbers[1] <= 16 << 20)
        #expect(numbers[2] == 0)
        #expect(received.value > size && declared.value == "\(received.value)")
        #expect(blocks.value == size / BlockReader.size)
    }
}
