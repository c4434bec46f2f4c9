import ApproovAuthority
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

/// Bodies larger than the memory that a process may use.
@Suite("Streams", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct StreamingTests {
    private static let size = 256 << 20
    /// The most memory that a process may use, in bytes.
    private static let bound = 64 << 20
    /// After this many bytes, all buffers have been filled.
    private static let settled = 64 << 20
    /// The most additional memory after that, for pages that an allocator takes or returns.
    private static let tolerance = 4 << 20
    private static let piece = [UInt8](repeating: 0x61, count: 1 << 18)

    /// The resident memory of a process in bytes, without mapped files.
    private static func memory(of id: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return kilobytes << 10
    }

    /// Makes an attested call in a separate process, and measures its memory while bytes move.
    private func checkMemory(_ world: LoopbackWorld, _ server: TestHTTPServer, moved: Shared<Int>, _ arguments: [String]) async throws {
        try await world.authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
        let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
        // Not FileHandle.nullDevice, which has no descriptor on Linux.
        let output = try FileHandle(forWritingTo: URL(filePath: "/dev/null"))
        let process = try ChildProcess(
            ChildProcess.approov,
            [
                "call", try world.url("/", port: server.port).absoluteString, "-H", "Authorization: Bearer alice", "--bind",
                "Authorization", "--config", world.folder.write(configuration, to: "initial.config"), "--state",
                world.folder.path("call-state"),
            ] + arguments, output: output)
        async let run = process.wait()
        var (before, after) = (0, 0)
        while let memory = Self.memory(of: process.id) {
            if moved.value < Self.settled { before = max(before, memory) } else { after = max(after, memory) }
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(await run.exitCode == 0, "\(process.errors)")
        #expect(moved.value == Self.size)
        #expect(before > 0 && after > 0)
        #expect(max(before, after) < Self.bound, "\(before >> 10) KiB, then \(after >> 10) KiB")
        #expect(after <= before + Self.tolerance, "\(before >> 10) KiB, then \(after >> 10) KiB")
    }

    @Test("A download of 256 MiB uses less than 64 MiB of memory, which stops growing after the first 64 MiB")
    func down() async throws {
        try await LoopbackWorld.with { world in
            let sent = Shared(0)
            let server = try await world.server(key: world.keys[0], versions: .http1) { _ in
                TestResponse(length: Self.size) { number in
                    guard number < Self.size / Self.piece.count else { return nil }
                    sent.change { $0 += Self.piece.count }
                    return Self.piece
                }
            }
            try await checkMemory(world, server, moved: sent, [])
            await server.stop()
        }
    }

    @Test("An upload of 256 MiB uses less than 64 MiB of memory, which stops growing after the first 64 MiB")
    func up() async throws {
        try await LoopbackWorld.with { world in
            let received = Shared(0)
            let server = try await world.server(key: world.keys[0], versions: .http1) { request in
                for try await piece in request.body { received.change { $0 += piece.count } }
                return TestResponse()
            }
            let file = world.folder.file("upload")
            // A sparse file: reads return zeros.
            #expect(truncate(try world.folder.write("", to: "upload"), off_t(Self.size)) == 0)
            try await checkMemory(world, server, moved: received, ["-d", "@\(file.path(percentEncoded: false))"])
            await server.stop()
        }
    }
}
