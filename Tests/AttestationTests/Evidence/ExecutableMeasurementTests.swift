import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Glibc
import Testing

@Suite struct ExecutableMeasurementTests {
    @Test(
        "The measurement of a file is the SHA-256 of its bytes", arguments: [0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3_000_000])
    func measurement(size: Int) throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let file = folder.url.appending(path: "program")
        try Data(bytes).write(to: file)
        #expect(try ExecutableMeasurement.sha256(ofFileAt: file) == Base64.encode(Array(SHA256.hash(data: bytes))))
    }

    @Test("A file that is replaced while it is measured has the hash of the old or of the new file, never of a mixture")
    func replaced() async throws {
        let folder = try TemporaryFolder()
        let contents = [[UInt8](repeating: 1, count: 2 << 20), [UInt8](repeating: 2, count: 2 << 20)]
        for (number, bytes) in contents.enumerated() { try Data(bytes).write(to: folder.url.appending(path: "\(number)")) }
        let file = folder.url.appending(path: "program")
        try Data(contents[0]).write(to: file)
        let replacements = Shared(0)
        let (isOver, failures) = (Shared(false), Shared(0))
        // A thread, because a measurement does not suspend its task: on one processor no other task would run meanwhile.
        let ended = Gate()
        Thread.detachNewThread {
            while !isOver.value {
                let number = replacements.value % 2
                let isReplaced =
                    link(folder.path("\(1 - number)"), folder.path("next")) == 0
                    && rename(folder.path("next"), folder.path("program")) == 0
                if !isReplaced { failures.change { $0 += 1 } }
                replacements.change { $0 += 1 }
                usleep(100)
            }
            ended.open()
        }
        let expected = contents.map { Base64.encode(Array(SHA256.hash(data: $0))) }
        /// The measurements during which the file was replaced.
        var overtaken = 0
        for _ in 0..<10_000 where overtaken < 20 {
            let before = replacements.value
            let hash = try? ExecutableMeasurement.sha256(ofFileAt: file)
            #expect(hash.map(expected.contains) == true)
            if replacements.value > before { overtaken += 1 }
        }
        isOver.value = true
        try await ended.wait()
        #expect(overtaken == 20 && failures.value == 0)
    }

    @Test("Only a regular file is measured; a FIFO, a missing file, a folder and a device are rejected")
    func notAFile() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.path("fifo"), 0o600) == 0)
        for path in [folder.path("fifo"), folder.path("missing"), folder.path(""), "/dev/zero"] {
            let error = try #require(throws: AttestationError.self) {
                try ExecutableMeasurement.sha256(ofFileAt: URL(fileURLWithPath: path))
            }
            #expect(error.code == .measurementFailed)
        }
    }
}
