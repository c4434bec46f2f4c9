import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S2.14, S2.39
@Suite struct ApproovSessionTransferTests {
    /// A world whose API returns the request's body.
    private func echo() throws -> World {
        let world = try World()
        world.api.value = { request in
            let bytes: [UInt8] =
                switch request.body {
                case .bytes(let bytes): bytes
                case .file(let path): [UInt8](try Data(contentsOf: URL(filePath: path)))
                default: []
                }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: bytes))
        }
        return world
    }

    @Test("A body from httpBody, data or a file reaches the API, and a remote URL as the file is refused")
    func bodies() async throws {
        let world = try echo()
        let session = try world.session()
        let request = URLRequest("https://api.test/", method: "POST")
        #expect(try await session.data(for: URLRequest("https://api.test/", method: "POST", body: "one")).0 == Data("one".utf8))
        #expect(try await session.upload(for: request, from: Data("two".utf8)).0 == Data("two".utf8))
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "three")
        try Data("three".utf8).write(to: file)
        #expect(try await session.upload(for: request, fromFile: file).0 == Data("three".utf8))
        await #expect(throws: ApproovError(.bodyFailed, "")) {
            try await session.upload(for: request, fromFile: try #require(URL(string: "https://api.test/")))
        }
    }

    @Test("A response larger than the limit is refused")
    func limit() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 200, url: $0.url, body: ResponseBody(bytes: [UInt8](repeating: 1, count: 1_000))) }
        let session = try world.session()
        #expect(try await session.data(for: URLRequest("https://api.test/"), limit: 1_000).0.count == 1_000)
        await #expect(throws: ApproovError(.responseTooLarge, "")) {
            try await session.data(for: URLRequest("https://api.test/"), limit: 999)
        }
        #expect(world.apiRequests.last?.options.maximumBodyBytes == 999)
    }

    @Test("A response can be read byte by byte or in chunks, and its failure is an error of the SDK")
    func bytes() async throws {
        let world = try World()
        world.api.value = { request in
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([1, 2, 3])
                continuation.yield([4])
                if request.url.target == "/broken" {
                    continuation.finish(throwing: TransportError(.connectionLost, "reset"))
                } else {
                    continuation.finish()
                }
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let session = try world.session()
        var seen: [UInt8] = []
        for try await byte in try await session.bytes(for: URLRequest("https://api.test/")).0 { seen.append(byte) }
        #expect(seen == [1, 2, 3, 4])
        var chunks: [[UInt8]] = []
        for try await chunk in try await session.bytes(for: URLRequest("https://api.test/")).0.chunks { chunks.append(chunk) }
        #expect(chunks == [[1, 2, 3], [4]])
        let broken = try await session.bytes(for: URLRequest("https://api.test/broken")).0
        await #expect(throws: ApproovError(.networkingError, "")) { for try await _ in broken {} }
    }

    @Test("A download becomes a file with mode 0600, and a failed download leaves no file")
    func download() async throws {
        let world = try World()
        let content = (0..<200_003).map { UInt8(truncatingIfNeeded: $0) }
        world.api.value = { request in
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                for start in stride(from: 0, to: content.count, by: 16_384) {
                    continuation.yield(Array(content[start..<min(start + 16_384, content.count)]))
                }
                if request.url.target == "/broken" {
                    continuation.finish(throwing: TransportError(.connectionLost, "reset"))
                } else {
                    continuation.finish()
                }
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let session = try world.session()
        let (file, response) = try await session.download(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 200)
        #expect([UInt8](try Data(contentsOf: file)) == content)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        try FileManager.default.removeItem(at: file)

        let before = try downloadedFiles(ofSize: content.count).count
        await #expect(throws: ApproovError(.networkingError, "")) { try await session.download(for: URLRequest("https://api.test/broken")) }
        #expect(try downloadedFiles(ofSize: content.count).count == before)
    }

    @Test("A task with a completion handler does the same as the async method, once it is resumed")
    func tasks() async throws {
        let world = try echo()
        let session = try world.session()
        let request = URLRequest("https://api.test/", method: "POST", body: "body")
        let data = await withCheckedContinuation { continuation in
            session.dataTask(with: request) { data, response, error in
                #expect(error == nil)
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
                continuation.resume(returning: data)
            }.resume()
        }
        #expect(data == Data("body".utf8))
        let uploaded = await withCheckedContinuation { continuation in
            session.uploadTask(with: request, from: Data("other".utf8)) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(uploaded == Data("other".utf8))
        let file = await withCheckedContinuation { continuation in
            session.downloadTask(with: request) { file, _, _ in
                #expect(file.flatMap { try? Data(contentsOf: $0) } == Data("body".utf8))
                continuation.resume(returning: file)
            }.resume()
        }
        let path = try #require(file).path(percentEncoded: false)
        #expect(await eventually { !FileManager.default.fileExists(atPath: path) })
    }

    @Test("A cancelled task ends once with a CancellationError, whether or not it was resumed before")
    func cancelledTasks() async throws {
        let world = try World()
        world.api.value = { request in
            try await Task.sleep(for: .seconds(3_600))
            return TransportResponse(status: 200, url: request.url)
        }
        let session = try world.session()
        for isResumed in [false, true] {
            let endings = Shared(0)
            let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Error)?, Never>) in
                let task = session.dataTask(with: URLRequest("https://else.test/")) { _, _, error in
                    endings.change { $0 += 1 }
                    continuation.resume(returning: error)
                }
                if isResumed {
                    task.resume()
                    task.resume()
                }
                task.cancel()
                task.cancel()
                task.resume()
            }
            #expect(error is CancellationError)
            #expect(endings.value == 1)
        }
    }

    @Test("A body stream reaches the transport as a stream")
    func bodyStream() async throws {
        let world = try World()
        let streams = Shared(0)
        world.api.value = { request in
            if case .stream = request.body { streams.change { $0 += 1 } }
            return TransportResponse(status: 200, url: request.url)
        }
        var request = URLRequest("https://api.test/", method: "POST")
        request.httpBodyStream = InputStream(data: Data(repeating: 7, count: 100_000))
        _ = try await world.session().data(for: request)
        #expect(streams.value == 1)
    }
}
