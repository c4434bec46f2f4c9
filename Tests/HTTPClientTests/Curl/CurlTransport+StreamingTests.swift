import ApproovTesting
import CLibCurl
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Synchronization
import TestTags
import Testing

/// Covers the trap C21; see `TrapTests`.
@Suite(.tags(.sockets, .processes, .slow)) struct CurlStreamingTests {
    @Test("A body streams in both directions while it is being produced", arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func echo(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions) { request in
            let (pieces, feed) = AsyncStream.makeStream(of: [UInt8].self)
            Task {
                for try await piece in request.body { feed.yield(piece) }
                feed.finish()
            }
            return TestResponse(length: nil) { _ in
                var iterator = pieces.makeAsyncIterator()
                return await iterator.next()
            }
        }
        let (parts, feed) = AsyncStream.makeStream(of: [UInt8].self)
        let request = TransportRequest(
            url: try site.url(), method: .post, body: .stream(length: nil, RequestBodyStream(parts)), policy: try site.policy())
        feed.yield(Array("first".utf8))
        let response = try await site.transport.send(request)
        var body = response.body.makeAsyncIterator()
        #expect(try await body.next() == Array("first".utf8))
        feed.yield(Array("second".utf8))
        #expect(try await body.next() == Array("second".utf8))
        feed.finish()
        #expect(try await body.next() == nil)
        await site.stop()
    }

    @Test(
        "An upload waits while the server reads nothing, and is complete when it reads",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func lateReader(versions: TestHTTPServer.Versions) async throws {
        let gate = Gate()
        let site = try await Site.start(versions: versions) { request in
            try await gate.wait()
            var count = 0
            for try await piece in request.body { count += piece.count }
            return TestResponse(text: "\(count)")
        }
        let size = 8 << 20
        let sent = Shared(0)
        var request = TransportRequest(
            url: try site.url(), method: .post, body: .bytes([UInt8](repeating: 1, count: size)), policy: try site.policy())
        request.options.onUpload = { progress in sent.value = progress.completed }
        let (transport, upload) = (site.transport, request)
        let text = Task { try await transport.send(upload).body.collect(upTo: 100) }
        try #require(await eventually { sent.value > 0 })
        // The upload waits once nothing has moved for ten of the moments in which the driver does not ask whether it can write.
        let waits = try await eventually {
            let before = sent.value
            try await Task.sleep(for: .milliseconds(200))
            return sent.value == before
        }
        #expect(waits)
        // Over HTTP/1.1 the system's buffers might take everything; over HTTP/2 the server's window is smaller.
        if versions == .http1AndHTTP2 { #expect(sent.value < size) }
        gate.open()
        #expect(try await text.value == Array("\(size)".utf8))
        await site.stop()
    }

    @Test("The client uploads a whole file, and reports progress up to its size")
    func file() async throws {
        let site = try await Site.start { request in
            var count = 0
            for try await piece in request.body { count += piece.count }
            return TestResponse(text: "\(count)")
        }
        let size = 3_000_000
        let folder = try TemporaryFolder()
        let path = try folder.write([UInt8](repeating: 1, count: size), to: "upload")
        let told = Shared<[TransferProgress]>([])
        var request = TransportRequest(url: try site.url(), method: .put, body: .file(path: path), policy: try site.policy())
        request.options.onUpload = { progress in told.change { $0.append(progress) } }
        let response = try await site.transport.send(request)
        #expect(try await response.body.collect(upTo: 100) == Array("\(size)".utf8))
        #expect(told.value.count > 1)
        #expect(told.value.last == TransferProgress(completed: size, total: size))
        expectGrowth(told.value)
        await site.stop()
    }

    @Test(
        "The client reports upload progress of small and large bodies, in memory and streamed",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func uploadProgress(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions) { request in
            for try await _ in request.body {}
            return TestResponse(text: "taken")
        }
        func stream(length: Int?) -> RequestBody {
            .stream(
                length: length,
                RequestBodyStream(
                    AsyncStream<[UInt8]> { feed in
                        for _ in 0..<10 { feed.yield([UInt8](repeating: 1, count: 20_000)) }
                        feed.finish()
                    }))
        }
        for (body, size, total) in [
            (.bytes([1]), 1, 1), (.bytes([UInt8](repeating: 1, count: 300_000)), 300_000, 300_000),
            (stream(length: 200_000), 200_000, 200_000), (stream(length: nil), 200_000, nil),
        ] as [(RequestBody, Int, Int?)] {
            let told = Shared<[TransferProgress]>([])
            var request = TransportRequest(url: try site.url(), method: .post, body: body, policy: try site.policy())
            request.options.onUpload = { progress in told.change { $0.append(progress) } }
            #expect(try await site.transport.send(request).status == 200)
            #expect(told.value.last == TransferProgress(completed: size, total: total))
            #expect(told.value.count > 1 || size == 1)
            expectGrowth(told.value)
        }
        await site.stop()
    }

    @Test(
        "The client reports download progress, with the total where it is known",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func downloadProgress(versions: TestHTTPServer.Versions) async throws {
        let size = 3_000_000
        let packed = try await gzip([UInt8](repeating: 0, count: size))
        let site = try await Site.start(versions: versions) { request in
            if request.path == "/packed" { return TestResponse(headerFields: [.contentEncoding: "gzip"], body: packed) }
            return TestResponse(length: request.path == "/known" ? size : nil) { index in
                index < 30 ? [UInt8](repeating: 1, count: size / 30) : nil
            }
        }
        // Progress counts decoded bytes, but the announced length is that of the encoded ones.
        for (path, total) in [("/known", size), ("/unknown", nil), ("/packed", nil)] as [(String, Int?)] {
            let told = Shared<[TransferProgress]>([])
            var request = TransportRequest(url: try site.url(path), policy: try site.policy())
            request.options.onDownload = { progress in told.change { $0.append(progress) } }
            #expect(try await site.transport.send(request).body.collect(upTo: size).count == size)
            #expect(told.value.count > 1)
            #expect(told.value.last == TransferProgress(completed: size, total: total))
            #expect(told.value.allSatisfy { $0.total == total })
            expectGrowth(told.value)
        }
        await site.stop()
    }

    private func expectGrowth(_ told: [TransferProgress]) {
        for (earlier, later) in zip(told, told.dropFirst()) { #expect(earlier.completed < later.completed) }
    }

    @Test("The client refuses to upload a folder, a FIFO or a missing file, and does not connect")
    func badFiles() async throws {
        let site = try await Site.start()
        let folder = try TemporaryFolder()
        let fifo = folder.path("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [folder.path, fifo, "/nonexistent/file"] {
            let request = TransportRequest(url: try site.url(), method: .put, body: .file(path: path), policy: try site.policy())
            #expect(await transportError { try await site.transport.send(request) }?.code == .requestBodyFailed)
        }
        #expect(site.server.counters.connections == 0)
        await site.stop()
    }

    @Test(
        "A body that is shorter or longer than declared fails the request",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1], [5, 50])
    func wrongLength(versions: TestHTTPServer.Versions, declared: Int) async throws {
        let site = try await Site.start(versions: versions) { request in
            _ = try await request.body.collect(upTo: 1000)
            return TestResponse(text: "taken")
        }
        let parts = AsyncStream<[UInt8]> { feed in
            feed.yield([UInt8](repeating: 0, count: 20))
            feed.finish()
        }
        let request = TransportRequest(
            url: try site.url(), method: .post, body: .stream(length: declared, RequestBodyStream(parts)), policy: try site.policy())
        #expect(await transportError { try await site.transport.send(request) }?.code == .requestBodyFailed)
        await site.stop()
    }

    @Test("A body that throws fails the request, and its error is the cause")
    func failingBody() async throws {
        struct NoMore: Error {}
        let site = try await Site.start { request in
            _ = try await request.body.collect(upTo: 1 << 20)
            return TestResponse(text: "taken")
        }
        let parts = AsyncThrowingStream<[UInt8], any Error> { feed in
            feed.yield([1, 2, 3])
            feed.finish(throwing: NoMore())
        }
        let request = TransportRequest(
            url: try site.url(), method: .post, body: .stream(length: nil, RequestBodyStream(parts)), policy: try site.policy())
        let error = await transportError { try await site.transport.send(request) }
        #expect(error?.code == .requestBodyFailed)
        #expect(error?.cause is NoMore)
        await site.stop()
    }

    @Test("The client receives at most 600 kB of a body ahead of its reader", arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func backPressure(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions) { request in
            guard request.path == "/" else { return TestResponse(text: "small") }
            return TestResponse(length: nil) { index in index < 500 ? [UInt8](repeating: 1, count: 65_536) : nil }
        }
        let received = Shared(0)
        let policy = try site.policy()
        var request = TransportRequest(url: try site.url(), policy: policy)
        request.options.onDownload = { progress in received.value = progress.completed }
        let response = try await site.transport.send(request)
        // 32 MiB in all, of which half a mebibyte is held for the reader.
        try #require(await eventually { received.value >= 500_000 })
        // These requests run on the same thread, so the client would have time to receive the whole body.
        for _ in 0..<50 { _ = try await site.get("/small", policy: policy) }
        #expect(received.value <= 600_000)
        var total = 0
        for try await part in response.body {
            total += part.count
            #expect(received.value - total <= 600_000)
        }
        #expect(total == 500 * 65_536)
        #expect(received.value == total)
        await site.stop()
    }

    @Test("A cancelled reader gets no more of a body, also if it is slower than the server, so that a part always waits")
    func cancelledReader() async throws {
        let piece = [UInt8](repeating: 1, count: 16_384)
        let site = try await Site.start { _ in TestResponse(length: nil) { index in index < 2_000 ? piece : nil } }
        let request = TransportRequest(url: try site.url(), policy: try site.policy())
        let transport = site.transport
        let reading = Task {
            for try await _ in try await transport.send(request).body {
                // Only the first time has an effect.
                withUnsafeCurrentTask { $0?.cancel() }
                // A sleeping task would notice that it is cancelled.
                usleep(2_000)
            }
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        await site.stop()
    }

    @Test("A body that is not being read does not stall other requests on its connection")
    func noHeadOfLineBlocking() async throws {
        let site = try await Site.start { request in
            guard request.path == "/big" else { return TestResponse(text: "small") }
            return TestResponse(length: nil) { index in index < 200 ? [UInt8](repeating: 1, count: 65_536) : nil }
        }
        let policy = try site.policy()
        let received = Shared(0)
        var request = TransportRequest(url: try site.url("/big"), policy: policy)
        request.options.onDownload = { progress in received.value = progress.completed }
        let big = try await site.transport.send(request)
        // Now the buffer for the reader is full.
        try #require(await eventually { received.value >= 500_000 })
        for _ in 0..<5 {
            var request = TransportRequest(url: try site.url("/small"), policy: policy)
            request.options.totalTimeout = .seconds(20)
            let response = try await site.transport.send(request)
            #expect(try await response.body.collect(upTo: 100) == Array("small".utf8))
        }
        var total = 0
        for try await part in big.body { total += part.count }
        #expect(total == 200 * 65_536)
        await site.stop()
    }

    @Test("The client refuses a body above the request's cap or the reader's limit")
    func caps() async throws {
        let site = try await Site.start { _ in TestResponse(text: String(repeating: "x", count: 100_000)) }
        var request = TransportRequest(url: try site.url(), policy: try site.policy())
        request.options.maximumBodyBytes = 99_999
        let capped = request
        let error = await transportError {
            try await site.transport.send(capped).body.collect(upTo: .max)
        }
        #expect(error?.code == .bodyTooLarge)
        request.options.maximumBodyBytes = 100_000
        let response = try await site.transport.send(request)
        #expect(await transportError { try await response.body.collect(upTo: 50_000) }?.code == .bodyTooLarge)
        await site.stop()
    }

    @Test("The answer to an upload that the server refuses is whole, although its reader was slow")
    func refusedUpload() async throws {
        // Slightly more than the client keeps for a slow reader, so that libcurl holds the last part.
        let answer = (0..<532_288).map { UInt8(truncatingIfNeeded: $0) }
        let site = try await Site.start { request in
            request.path == "/up" ? TestResponse(.unprocessableContent, body: answer) : TestResponse(text: "hello")
        }
        let policy = try site.policy()
        let response = try await site.transport.send(
            TransportRequest(url: try site.url("/up"), method: .post, body: .bytes([1]), policy: policy))
        #expect(response.status == 422)
        // The answers to later requests on the same connection say that the driver has seen what came before.
        for _ in 0..<20 { #expect(try await site.get(policy: policy).1 == "hello") }
        #expect(try await response.body.collect(upTo: 1 << 20) == answer)
        #expect(site.server.counters.connections == 1)
        await site.stop()
    }

    @Test("The client decodes gzip, drops the fields that describe it, and applies the cap to the decoded body")
    func compression() async throws {
        // 1 MiB of zeros, which gzip compresses to about a kilobyte.
        let bomb = try await gzip([UInt8](repeating: 0, count: 1 << 20))
        let site = try await Site.start { request in
            let offered = request.headerFields[.acceptEncoding] ?? ""
            guard offered.contains("gzip") else { return TestResponse(text: "not offered") }
            return TestResponse(.ok, headerFields: [.contentEncoding: "gzip"], body: bomb)
        }
        var request = TransportRequest(url: try site.url(), policy: try site.policy())
        let response = try await site.transport.send(request)
        #expect(try await response.body.collect(upTo: 2 << 20).count == 1 << 20)
        #expect(response.headerFields[.contentEncoding] == nil)
        #expect(response.headerFields[.contentLength] == nil)

        request.options.maximumBodyBytes = 500_000
        let capped = request
        let error = await transportError { try await site.transport.send(capped).body.collect(upTo: .max) }
        #expect(error?.code == .bodyTooLarge)

        request.headerFields[.acceptEncoding] = "gzip"
        let raw = try await site.transport.send(request)
        #expect(try await raw.body.collect(upTo: 1 << 20) == bomb)
        #expect(raw.headerFields[.contentEncoding] == "gzip")
        await site.stop()
    }

    @Test(
        "The client decodes brotli and applies the cap to the decoded body",
        .enabled(if: isBuilt(with: CURL_VERSION_BROTLI), "this libcurl has no brotli"))
    func brotli() async throws {
        try await decodes("br", "W///j38CIB4LBHLvHwA=")
    }

    @Test(
        "The client decodes zstd and applies the cap to the decoded body",
        .enabled(if: isBuilt(with: CURL_VERSION_ZSTD), "this libcurl has no zstd"))
    func zstd() async throws {
        try await decodes("zstd", "KLUv/QRoTAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAwAQAPE+FuE=")
    }

    /// Checks that the client decodes 1 MiB of zeros and applies the cap to them.
    private func decodes(_ encoding: String, _ base64: String) async throws {
        let packed = [UInt8](try #require(Data(base64Encoded: base64)))
        let site = try await Site.start { request in
            let offered = request.headerFields[.acceptEncoding] ?? ""
            guard offered.split(separator: ", ").contains(encoding[...]) else { return TestResponse(text: "not offered") }
            return TestResponse(.ok, headerFields: [.contentEncoding: encoding], body: packed)
        }
        var request = TransportRequest(url: try site.url(), policy: try site.policy())
        let response = try await site.transport.send(request)
        let body = try await response.body.collect(upTo: 2 << 20)
        #expect(body.count == 1 << 20)
        #expect(body.allSatisfy { $0 == 0 })
        #expect(response.headerFields[.contentEncoding] == nil)
        request.options.maximumBodyBytes = 1 << 20
        #expect(try await site.transport.send(request).body.collect(upTo: .max).count == 1 << 20)
        request.options.maximumBodyBytes = 1 << 20 - 1
        let capped = request
        #expect(await transportError { try await site.transport.send(capped).body.collect(upTo: .max) }?.code == .bodyTooLarge)
        await site.stop()
    }

    @Test("The cap also applies to bytes that were decoded while the reader was behind")
    func capAfterPause() async throws {
        // libcurl decodes this in one step and holds most of it while receiving is paused.
        let bomb = try await gzip([UInt8](repeating: 0, count: 8 << 20))
        let site = try await Site.start { _ in TestResponse(.ok, headerFields: [.contentEncoding: "gzip"], body: bomb) }
        var request = TransportRequest(url: try site.url(), policy: try site.policy())
        request.options.maximumBodyBytes = 2 << 20
        let capped = request
        let error = await transportError { try await site.transport.send(capped).body.collect(upTo: .max) }
        #expect(error?.code == .bodyTooLarge)
        await site.stop()
    }

    @Test("A refused request leaves no options behind for the next one")
    func nothingLingers() async throws {
        let packed = try await gzip(Array("hello".utf8))
        let site = try await Site.start { _ in TestResponse(.ok, headerFields: [.contentEncoding: "gzip"], body: packed) }
        var request = TransportRequest(url: try site.url(), policy: try site.policy())
        request.options.proxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("127.0.0.1"), port: 0)
        let refused = request
        #expect(await transportError { try await site.transport.send(refused) }?.code == .unsupported)
        request.options.proxy = nil
        request.headerFields[.acceptEncoding] = "gzip"
        #expect(try await site.transport.send(request).body.collect(upTo: 1_000) == packed)
        await site.stop()
    }

    @Test("A response that is complete before the request's content is complete ends when the content does", arguments: [nil, 4])
    func earlyAnswer(length: Int?) async throws {
        let site = try await Site.start { request in TestResponse(request.path == "/" ? .ok : .noContent) }
        let isAnswered = Gate()
        let policy = try site.policy()
        var request = TransportRequest(url: try site.url(), method: .post, policy: policy)
        request.body = .stream(
            length: length,
            RequestBodyStream { write in
                try await write([1, 2])
                try await isAnswered.wait()
                try await write([3, 4])
            })
        let response = try await site.transport.send(request)
        // The response to this request follows the end of the first response on the same connection.
        #expect(try await site.transport.send(TransportRequest(url: site.url("/next"), policy: policy)).status == 204)
        isAnswered.open()
        #expect(try await response.body.collect(upTo: 10).isEmpty)
        #expect(site.server.counters.connections == 1)
        await site.stop()
    }

    @Test("The client does not begin to read a body stream for a server that it refuses")
    func refusedStream() async throws {
        let site = try await Site.start()
        let isBegun = Mutex(false)
        let parts = AsyncStream<[UInt8]> {
            isBegun.withLock { $0 = true }
            return nil
        }
        let policy = try site.policy(pins: [try Pin("sha256/" + Data(repeating: 7, count: 32).base64EncodedString())])
        let request = TransportRequest(
            url: try site.url(), method: .post, body: .stream(length: nil, RequestBodyStream(parts)), policy: policy)
        #expect(await transportError { try await site.transport.send(request) }?.code == .trustRefused)
        #expect(!isBegun.withLock { $0 })
        await site.stop()
    }

    @Test("The client refuses a HEAD request with a body")
    func headWithBody() async throws {
        let site = try await Site.start(versions: .http1)
        let request = TransportRequest(url: try site.url(), method: .head, body: .bytes([1]), policy: try site.policy())
        #expect(await transportError { try await site.transport.send(request) }?.code == .unsupported)
        await site.stop()
    }

    @Test("A body that is not valid gzip makes the response fail as malformed")
    func brokenEncoding() async throws {
        let site = try await Site.start { _ in
            TestResponse(.ok, headerFields: [.contentEncoding: "gzip"], body: Array("this is not gzip at all".utf8))
        }
        let error = await transportError { try await site.get(policy: site.policy()) }
        #expect(error?.code == .malformedResponse)
        await site.stop()
    }
}

/// Whether the linked libcurl reports that it was built with a feature.
private func isBuilt(with feature: Int32) -> Bool {
    clibcurl_version_info().map { $0.pointee.features & feature != 0 } ?? false
}

private func gzip(_ bytes: [UInt8]) async throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let run = try await ChildProcess.run(URL(filePath: "/bin/gzip"), ["-c", folder.write(bytes, to: "plain")])
    try #require(run.exitCode == 0, "\(run.errors)")
    return Array(run.data)
}
