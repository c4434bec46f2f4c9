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
