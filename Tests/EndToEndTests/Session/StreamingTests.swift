import ApproovServer
import ApproovTesting
import Attestation
import Foundation
import Testing

/// Bodies that are larger than what a process should take.
@Suite("Streams", .timeLimit(.minutes(4)))
struct StreamingTests {
    private static let size = 256 << 20
    private static let piece = [UInt8](repeating: 0x61, count: 1 << 18)

    /// What a process holds in memory of its own, in bytes: not what is mapped from files.
    private static func memory(of id: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return kilobytes << 10
    }

    /// Makes an attested call in a process of its own, and returns by how much its memory grew since the API heard of it.
    private func growth(_ world: World, _ server: TestHTTPServer, _ arguments: [String]) async throws -> Int {
        try await world.authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: ApproovProcess.executable), label: "approov")
        let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
        let process = try ApproovProcess(
            [
                "call", try world.url("/", port: server.port).absoluteString, "-H", "Authorization: Bearer alice", "--bind",
                "Authorization", "--config", world.folder.write(configuration, to: "initial.config"), "--state",
                world.folder.path("call-state"),
            ] + arguments, output: FileHandle.nullDevice)
        async let code = process.wait()
        var first: Int?
        var most = 0
        while let memory = Self.memory(of: process.id) {
            if server.counters.requests > 0 { first = first ?? memory }
            most = max(most, memory)
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(await code == 0, "\(process.errors)")
        return most - (try #require(first))
    }

    @Test("256 MiB come down without being held in memory")
    func down() async throws {
        try await World.with { world in
            let server = try await world.server(key: world.keys[0], versions: .http1) { _ in
                TestResponse(length: Self.size) { $0 < Self.size / Self.piece.count ? Self.piece : nil }
            }
            #expect(try await growth(world, server, []) < 64 << 20)
            await server.stop()
        }
    }

    @Test("256 MiB go up without being held in memory")
    func up() async throws {
        try await World.with { world in
            let received = Shared(0)
            let server = try await world.server(key: world.keys[0], versions: .http1) { request in
                for try await piece in request.body { received.change { $0 += piece.count } }
                return TestResponse()
            }
            let file = world.folder.file("upload")
            // Sparse: what is read from it is zeros.
            #expect(truncate(try world.folder.write("", to: "upload"), off_t(Self.size)) == 0)
            #expect(try await growth(world, server, ["-d", "@\(file.path(percentEncoded: false))"]) < 64 << 20)
            #expect(received.value == Self.size)
            await server.stop()
        }
    }
}
