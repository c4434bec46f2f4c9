import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.16
/// Progress reports during uploads and downloads.
@Suite("Progress", .tags(.sockets), .timeLimit(.minutes(5)))
struct ProgressTests {
    private static let size = 1_000_000

    /// The reported progress must grow until it is complete.
    private func check(_ told: Shared<[TransferProgress]>) {
        #expect(told.value.count > 1)
        #expect(told.value.last == TransferProgress(completed: Self.size, total: Self.size))
        for (earlier, later) in zip(told.value, told.value.dropFirst()) { #expect(earlier.completed < later.completed) }
    }

    @Test("An upload from memory, an upload from a file and a download report their progress")
    func session() async throws {
        try await LoopbackWorld.with { world in
            let server = try await world.server(key: world.keys[0]) { request in
                var count = 0
                for try await piece in request.body { count += piece.count }
                guard request.method == .get else { return TestResponse(text: "\(count)") }
                return TestResponse(length: Self.size) { number in
                    number < 10 ? [UInt8](repeating: 1, count: Self.size / 10) : nil
                }
            }
            let session = try await world.app().session
            var request = URLRequest(url: try world.url("/", port: server.port))
            request.setValue("Bearer alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)

            let down = Shared<[TransferProgress]>([])
            let (downloaded, _) = try await session.download(for: request) { progress in down.change { $0.append(progress) } }
            #expect(try Data(contentsOf: downloaded).count == Self.size)
            try FileManager.default.removeItem(at: downloaded)
            check(down)

            request.httpMethod = "PUT"
            let body = [UInt8](repeating: 2, count: Self.size)
            let up = Shared<[TransferProgress]>([])
            let (answer, _) = try await session.upload(for: request, from: Data(body)) { progress in up.change { $0.append(progress) } }
            #expect(String(decoding: answer, as: UTF8.self) == "\(Self.size)")
            check(up)

            let fromFile = Shared<[TransferProgress]>([])
            let file = URL(filePath: try world.folder.write(body, to: "upload"))
            let (other, _) = try await session.upload(for: request, fromFile: file) { progress in fromFile.change { $0.append(progress) } }
            #expect(String(decoding: other, as: UTF8.self) == "\(Self.size)")
            check(fromFile)
            await server.stop()
        }
    }
}
