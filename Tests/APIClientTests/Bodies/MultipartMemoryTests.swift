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
    @Test("A process that uploads a large file as a part, suspended in the middle, declares its length, and grows by at most 16 MiB")
    func file() async throws {
        let environment = ProcessInfo.processInfo.environment
        let size = environment["APPROOV_UPLOAD_BYTES"].flatMap { Int($0) } ?? 64 << 20
        let folder = try TemporaryFolder()
        let path = try folder.write("", to: "large")
        // A hole takes no room on the disk.
        #expect(truncate(path, off_t(size)) == 0)
        let received = Shared(0)
        let declared = Shared("")
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            var count = 0
            for try await piece in request.body { count += piece.count }
            if request.path == "/form" {
                received.value = count
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
    }
}
