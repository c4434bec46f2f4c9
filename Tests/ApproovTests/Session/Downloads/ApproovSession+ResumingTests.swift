import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import Approov

@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(30))) struct ApproovSessionResumingTests {
    /// Content that is different everywhere, made block by block.
    private struct Content: Sendable {
        static let block = 65_536
        let size: Int
        let pattern: [UInt8]

        init(size: Int, seed: UInt64) {
            self.size = size
            var state = seed
            pattern = (0..<Self.block).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
        }

        /// The bytes from an offset to the end of its block; nil at the end.
        func bytes(from offset: Int) -> [UInt8]? {
            guard offset < size else { return nil }
            let number = offset / Self.block
            var block = pattern
            withUnsafeBytes(of: UInt64(number)) { block.replaceSubrange(0..<8, with: $0) }
            return Array(block[offset % Self.block..<min(Self.block, size - number * Self.block)])
        }

        /// Whether a file has exactly this content.
        func isContent(of file: URL) throws -> Bool {
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            var offset = 0
            while let expected = bytes(from: offset) {
                guard let data = try handle.read(upToCount: expected.count), [UInt8](data) == expected else { return false }
                offset += expected.count
            }
            return try handle.read(upToCount: 1)?.isEmpty ?? true
        }
    }

    /// A file server that cuts connections, and what it was asked for.
    private final class FileServer: Sendable {
        struct Answers: Sendable {
            var etag: String? = "\"v1\""
            var ignoresRange = false
            /// The offset at which the answer is cut; nil for a whole one.
            var cut: Int?
            var starts: [Int] = []
        }

        let content: Shared<Content>
        let answers = Shared(Answers())

        init(_ content: Content) { self.content = Shared(content) }

        func respond(to request: TestRequest) -> TestResponse {
            let (content, answers) = (content.value, answers.value)
            var fields: HTTPFields = [.acceptRanges: "bytes"]
            fields[.eTag] = answers.etag
            var start = 0
            if let range = request.headerFields[.range], !answers.ignoresRange, request.headerFields[.ifRange] == answers.etag {
                start = Int(range.dropFirst(6).dropLast()) ?? 0
            }
            self.answers.change { $0.starts.append(start) }
            guard start < content.size else {
                fields[.contentRange] = "bytes */\(content.size)"
                return TestResponse(.rangeNotSatisfiable, headerFields: fields)
            }
            if start > 0 { fields[.contentRange] = "bytes \(start)-\(content.size - 1)/\(content.size)" }
            let offset = Shared(start)
            return TestResponse(start > 0 ? .partialContent : .ok, headerFields: fields, length: content.size - start) { _ in
                guard var bytes = content.bytes(from: offset.value) else { return nil }
                if let cut = answers.cut {
                    guard offset.value < cut else { throw TestServerError("cut") }
                    bytes = Array(bytes.prefix(cut - offset.value))
                }
                offset.change { $0 += bytes.count }
                return bytes
            }
        }
    }

    /// The size of the large download in bytes; `APPROOV_DOWNLOAD=1073741824` makes it 1 GiB.
    private static let size = ProcessInfo.processInfo.environment["APPROOV_DOWNLOAD"].flatMap(Int.init) ?? 24 << 20

    private func site(_ files: FileServer, _ versions: TestHTTPServer.Versions = .http1AndHTTP2) async throws -> Site {
        try await Site.start(versions: versions) { files.respond(to: $0) }
    }

    @Test(
        "A download that is cut at random places resumes from where it was, and is right byte for byte",
        arguments: zip([TestHTTPServer.Versions.http1AndHTTP2, .http1], [1, 2] as [UInt64]))
    func cut(versions: TestHTTPServer.Versions, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let files = FileServer(Content(size: Self.size, seed: 1))
        let site = try await site(files, versions)
        let session = try site.session()
        var token: ResumeToken?
        var offsets = [0]
        var cuts = 0
        while cuts < 3 {
            let begin = token?.offset ?? 0
            files.answers.change { $0.cut = Int.random(in: begin + 1..<Self.size, using: &random) }
            let tokens = Shared<[ResumeToken]>([])
            let error = await #expect(throws: ApproovError.self) {
                try await session.download(for: URLRequest(url: site.url("/file")), resuming: token) { token in
                    tokens.change { $0.append(token) }
                }
            }
            #expect(error?.code == .networkingError)
            #expect(error?.isRetryable == true)
            // A connection that breaks before the head is read gives no token, and the earlier one stays valid.
            guard let last = tokens.value.last else {
                offsets.append(begin)
                continue
            }
            cuts += 1
            #expect(last.offset >= begin)
            #expect(last.total == Self.size)
            // Through a store, as after a restart of the app.
            token = try JSONDecoder().decode(ResumeToken.self, from: JSONEncoder().encode(last))
            offsets.append(last.offset)
        }
        files.answers.change { $0.cut = nil }
        let progress = Shared(0)
        let (file, head) = try await session.download(
            for: URLRequest(url: site.url("/file")), resuming: token, onProgress: { told in progress.value = told.completed })
        #expect(head.statusCode == (offsets.last == 0 ? 200 : 206))
        #expect(file == token?.file)
        #expect(progress.value == Self.size)
        #expect(try files.content.value.isContent(of: file))
        #expect(files.answers.value.starts == offsets)
        try FileManager.default.removeItem(at: file)
        await site.stop()
    }

    /// Begins a download that is cut in its middle.
    private func interrupted(_ files: FileServer, _ site: Site, _ session: ApproovSession) async throws -> ResumeToken {
        let size = files.content.value.size
        files.answers.change { $0.cut = size / 2 }
        defer { files.answers.change { $0.cut = nil } }
        let tokens = Shared<[ResumeToken]>([])
        // A cut may lose what was under way, so the first half may have to be fetched again.
        repeat {
            if let file = tokens.value.last?.file { try? FileManager.default.removeItem(at: file) }
            _ = try? await session.download(for: URLRequest(url: site.url("/file")), resuming: nil) { token in
                tokens.change { $0.append(token) }
            }
        } while (tokens.value.last?.offset ?? 0) == 0
        return try #require(tokens.value.last)
    }

    @Test("A download that failed leaves no file if its user is wiped before its caller learns of the failure")
    @MainActor func wipedAfterFailure() async throws {
        struct Watch: SessionObserver {
            let failed = DispatchSemaphore(value: 0)
            func didFail(_ failure: CallFailure) { failed.signal() }
        }
        let transport = InProcessTransport { request in
            TransportResponse(
                status: 200, headerFields: [.eTag: "\"v1\"", .contentLength: "200"], url: request.url,
                body: ResponseBody(bytes: [UInt8](repeating: 1, count: 100)))
        }
        let holder = try CredentialHolder("first-user-key")
        let watch = Watch()
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.credential = .header("X-User", holder, for: [try HostPattern("api.test")])
        configuration.observers = [watch]
        let session = try ApproovSession(service: nil, configuration: configuration)
        let files = Shared<Set<URL>>([])
        let wiped = Shared(false)
        await #expect(throws: CancellationError.self) {
            try await session.download(for: URLRequest("https://api.test/file"), resuming: nil) { token in
                files.change { $0.insert(token.file) }
                guard token.offset > 0, !wiped.value else { return }
                wiped.value = true
                // The main actor is busy until the download has failed, and then wipes the user before the caller goes on.
                DispatchQueue.main.async {
                    watch.failed.wait()
                    session.family.wipe(.all)
                }
            }
        }
        #expect(wiped.value && files.value.count == 1)
        for file in files.value { #expect(!FileManager.default.fileExists(atPath: file.path)) }
    }

    @Test("A download of something that has changed, or of a server that ignores ranges, begins again")
    func changed() async throws {
        for isIgnored in [false, true] {
            let files = FileServer(Content(size: 1 << 20, seed: 1))
            let site = try await site(files, .http1)
            let session = try site.session()
            let token = try await interrupted(files, site, session)
            let new = Content(size: 700_000, seed: 2)
            files.content.value = new
            files.answers.change {
                $0.etag = "\"v2\""
                $0.ignoresRange = isIgnored
            }
            let (file, head) = try await session.download(for: URLRequest(url: site.url("/file")), resuming: token)
            #expect(head.statusCode == 200)
            #expect(try new.isContent(of: file))
            try FileManager.default.removeItem(at: file)
            await site.stop()
        }
    }

    @Test(
        "Bytes of another version never come before the rest of the first one, also if both attempts break off and the first version returns"
    )
    func mixed() async throws {
        let steps = Shared(0)
        let transport = InProcessTransport { request in
            steps.change { $0 += 1 }
            let (etag, byte): (String, UInt8) = steps.value == 2 ? ("\"v2\"", 2) : ("\"v1\"", 1)
            var fields: HTTPFields = [.eTag: etag]
            let isRest = steps.value == 3 && request.headerFields.contains(.range)
            if isRest { fields[.contentRange] = "bytes 100-199/200" } else { fields[.contentLength] = "200" }
            return TransportResponse(
                status: isRest ? 206 : 200, headerFields: fields, url: request.url,
                body: ResponseBody(bytes: [UInt8](repeating: byte, count: steps.value == 2 ? 150 : steps.value == 4 ? 200 : 100)))
        }
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        let request = URLRequest("https://api.test/file")
        let tokens = Shared<[ResumeToken]>([])
        await #expect(throws: ApproovError(.networkingError, "")) {
            try await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
        }
        let first = try #require(tokens.value.last)
        #expect(first.offset == 100)
        await #expect(throws: ApproovError(.networkingError, "")) { try await session.download(for: request, resuming: first) }
        // The file of the first version is gone with its token.
        await #expect(throws: ApproovError(.bodyFailed, "")) { try await session.download(for: request, resuming: first) }
        #expect(steps.value == 2)
        steps.value = 3
        let (file, _) = try await session.download(for: request, resuming: nil)
        #expect(try Data(contentsOf: file) == Data(repeating: 1, count: 200))
        try FileManager.default.removeItem(at: file)
    }

    /// A session whose server announces 200 bytes, gives the first 100, and then so many for the rest.
    private static func shortSession(rest: Int = 0, first: Int = 100) throws -> ApproovSession {
        let transport = InProcessTransport { request in
            let isRest = request.headerFields.contains(.range)
            var fields: HTTPFields = [.eTag: "\"v1\""]
            if isRest { fields[.contentRange] = "bytes 100-199/200" } else { fields[.contentLength] = "200" }
            return TransportResponse(
                status: isRest ? 206 : 200, headerFields: fields, url: request.url,
                body: ResponseBody(bytes: [UInt8](repeating: 7, count: isRest ? rest : first)))
        }
        return try ApproovSession(service: nil, configuration: .over(transport))
    }

    @Test("A server that sends less or more than it announced interrupts the download, and never completes it", arguments: [50, 101])
    func anotherSize(rest: Int) async throws {
        let session = try Self.shortSession(rest: rest)
        let tokens = Shared<[ResumeToken]>([])
        for _ in 0..<2 {
            let error = await #expect(throws: ApproovError.self) {
                try await session.download(for: URLRequest("https://api.test/file"), resuming: tokens.value.last) { token in
                    tokens.change { $0.append(token) }
                }
            }
            #expect(error?.code == .networkingError && error?.isRetryable == true)
        }
        #expect(tokens.value.map(\.offset) == [0, 100, 100, rest == 50 ? 150 : 100])
        DownloadFile.remove(try #require(tokens.value.last).file)
    }

    @Test("An interrupted download whose token no one gets leaves no file")
    func noOwner() async throws {
        let size = 137
        func files() throws -> [URL] { try downloadedFiles(ofSize: size) }
        // A run that was killed may have left files.
        let before = try files().count
        let session = try Self.shortSession(first: size)
        _ = try? await session.download(for: URLRequest("https://api.test/file"), resuming: nil)
        #expect(try files().count == before)
        _ = try? await session.download(for: URLRequest("https://api.test/file"), resuming: nil) { _ in }
        #expect(try files().count == before + 1)
        for file in try files() { DownloadFile.remove(file) }
    }

    @Test("A server that has no rest ends the download, and its file is removed")
    func noRest() async throws {
        let files = FileServer(Content(size: 1 << 20, seed: 1))
        let site = try await site(files, .http1)
        let session = try site.session()
        let token = try await interrupted(files, site, session)
        files.content.value = Content(size: 10, seed: 1)
        await #expect(throws: ApproovError(.permanentError, "")) {
            try await session.download(for: URLRequest(url: site.url("/file")), resuming: token)
        }
        #expect(!FileManager.default.fileExists(atPath: token.file.path(percentEncoded: false)))
        await site.stop()
    }

    @Test(
        "A download that was interrupted after its last byte is complete, unless the server or the file tells of other content",
        arguments: [false, true])
    func lastByte(validates: Bool) async throws {
        let world = try World()
        let bytes = [UInt8](repeating: 7, count: 1_000)
        let refusal = Shared<HTTPFields>([:])
        world.api.value = { request in
            guard request.headerFields[.range] == nil else {
                return TransportResponse(status: 416, headerFields: refusal.value, url: request.url)
            }
            let parts = AsyncThrowingStream<[UInt8], any Error> { feed in
                feed.yield(bytes)
                feed.finish(throwing: TransportError(.connectionLost, "cut"))
            }
            return TransportResponse(
                status: 200, headerFields: [.eTag: "\"v1\"", .contentLength: "1000"], url: request.url, body: ResponseBody(parts))
        }
        let session = try world.configured { $0.validators = validates ? [StatusValidator()] : [] }
        let request = URLRequest("https://api.test/file")
        let cases: [(fields: HTTPFields, isLonger: Bool, isComplete: Bool)] = [
            ([.contentRange: "bytes */1000", .eTag: "\"v1\""], false, true), ([.contentRange: "bytes */1000"], false, true),
            ([.contentRange: "bytes */1000"], true, false), ([.contentRange: "bytes */999"], false, false), ([:], false, false),
            ([.contentRange: "bytes */1000", .eTag: "\"v2\""], false, false),
        ]
        for (fields, isLonger, isComplete) in cases {
            refusal.value = fields
            let tokens = Shared<[ResumeToken]>([])
            _ = try? await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
            let token = try #require(tokens.value.last)
            #expect(token.offset == 1_000)
            if isLonger {
                let handle = try FileHandle(forWritingTo: token.file)
                _ = try handle.seekToEnd()
                try handle.write(contentsOf: Data([7]))
                try handle.close()
            }
            if isComplete {
                let progress = Shared(0)
                let (file, head) = try await session.download(
                    for: request, resuming: token, onProgress: { told in progress.value = told.completed })
                #expect(head.statusCode == 416 && file == token.file && progress.value == 1_000)
                #expect([UInt8](try Data(contentsOf: file)) == bytes)
                try FileManager.default.removeItem(at: file)
            } else {
                await #expect(throws: ApproovError(.permanentError, "")) {
                    try await session.download(for: request, resuming: token)
                }
                #expect(!FileManager.default.fileExists(atPath: token.file.path(percentEncoded: false)))
            }
        }
    }

    @Test("A cancelled download gives a token, with which it goes on")
    func tokens() async throws {
        let files = FileServer(Content(size: 16 << 20, seed: 1))
        let site = try await site(files, .http1)
        let session = try site.session()
        let (tokens, received) = (Shared<[ResumeToken]>([]), Shared(0))
        let task = Task {
            try await session.download(for: URLRequest(url: site.url("/file")), resuming: nil) { token in
                tokens.change { $0.append(token) }
            } onProgress: { progress in
                received.value = progress.completed
                if progress.completed > 1 << 20 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(tokens.value.map(\.offset) == [0, received.value])
        let (file, _) = try await session.download(for: URLRequest(url: site.url("/file")), resuming: tokens.value.last)
        #expect(try files.content.value.isContent(of: file))
        try FileManager.default.removeItem(at: file)
        await site.stop()
    }

    @Test("A download without a strong ETag that is interrupted gives no token and leaves no file", arguments: [nil, "W/\"weak\"", "bare"])
    func noToken(etag: String?) async throws {
        // No other test downloads so many bytes.
        let size = 1_031 + (etag?.count ?? 0)
        let world = try World()
        world.api.value = { request in
            var fields: HTTPFields = [.contentLength: "5000"]
            fields[.eTag] = etag
            let parts = AsyncThrowingStream<[UInt8], any Error> { feed in
                feed.yield([UInt8](repeating: 1, count: size))
                feed.finish(throwing: TransportError(.connectionLost, "cut"))
            }
            return TransportResponse(status: 200, headerFields: fields, url: request.url, body: ResponseBody(parts))
        }
        let tokens = Shared<[ResumeToken]>([])
        let files = Shared(0)
        let session = try world.session()
        await #expect(throws: ApproovError(.networkingError, "")) {
            try await session.download(for: URLRequest("https://api.test/file"), resuming: nil) { token in
                tokens.change { $0.append(token) }
            } onProgress: { _ in
                files.value = (try? downloadedFiles(ofSize: size).count) ?? 0
            }
        }
        #expect(tokens.value.isEmpty)
        #expect(files.value == 1)
        #expect(try downloadedFiles(ofSize: size).isEmpty)
    }

    @Test("A download whose content has no ETag tells the size that the server announced with its progress")
    func announcedSize() async throws {
        let files = FileServer(Content(size: 100_000, seed: 1))
        files.answers.change { $0.etag = nil }
        let site = try await site(files)
        let last = Shared<TransferProgress?>(nil)
        let (file, _) = try await site.session().download(
            for: URLRequest(url: site.url("/file")), resuming: nil, onProgress: { progress in last.value = progress })
        try FileManager.default.removeItem(at: file)
        #expect(last.value == TransferProgress(completed: 100_000, total: 100_000))
        await site.stop()
    }

    @Test("A download that is under way cannot be resumed a second time", arguments: [false, true])
    func twice(isResumed: Bool) async throws {
        let world = try World()
        let (isHeld, goOn) = (Shared(false), Gate())
        world.api.value = { request in
            var fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "1000"]
            let start = request.headerFields[.range].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            if start > 0 { (fields[.contentRange], fields[.contentLength]) = ("bytes \(start)-999/1000", "\(1_000 - start)") }
            let next = Shared(start)
            let parts = AsyncThrowingStream<[UInt8], any Error>(unfolding: {
                let offset = next.value
                guard offset < 1_000 else { return nil }
                if offset == 500 {
                    guard isHeld.value else { throw TransportError(.connectionLost, "cut") }
                    try await goOn.wait()
                }
                next.value = offset + 250
                return [UInt8](repeating: UInt8(offset / 250), count: 250)
            })
            return TransportResponse(status: start > 0 ? 206 : 200, headerFields: fields, url: request.url, body: ResponseBody(parts))
        }
        let session = try world.session()
        let request = URLRequest("https://api.test/file")
        let tokens = Shared<[ResumeToken]>([])
        if isResumed {
            await #expect(throws: ApproovError(.networkingError, "")) {
                try await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
            }
        }
        isHeld.value = true
        let first = Task { [token = tokens.value.last] in
            try await session.download(for: request, resuming: token) { token in tokens.change { $0.append(token) } }
        }
        #expect(await eventually { goOn.waiterCount == 1 })
        let token = try #require(tokens.value.last)
        #expect(token.offset == (isResumed ? 500 : 0))
        let sent = world.apiRequests.count
        let result = Shared<Result<(URL, HTTPURLResponse), any Error>?>(nil)
        let second = Task { try await session.download(for: request, resuming: token) }
        let watch = Task { result.value = await second.result }
        #expect(await eventually { result.value != nil })
        second.cancel()
        await watch.value
        let error = #expect(throws: ApproovError.self) { try result.value?.get() }
        #expect(error?.code == .bodyFailed && error?.message.contains("already") == true)
        #expect(world.apiRequests.count == sent)
        goOn.open()
        let (file, _) = try await first.value
        #expect(try Data(contentsOf: file) == Data((0..<1_000).map { UInt8($0 / 250) }))
        // The end of the download releases the file.
        #expect(try await session.download(for: request, resuming: token).0 == file)
        try FileManager.default.removeItem(at: file)
    }

    @Test("The rest is not taken from another server, even with the same ETag")
    func otherServer() async throws {
        let world = try World()
        let target = Shared("https://api.test/target")
        let (first, second) = ([UInt8](repeating: 1, count: 1_000), [UInt8](repeating: 2, count: 1_000))
        world.api.value = { request in
            if request.url.target == "/file" {
                return TransportResponse(status: 307, headerFields: [.location: target.value], url: request.url)
            }
            let bytes = request.url.host.name == "api.test" ? first : second
            var fields: HTTPFields = [.eTag: "\"same\""]
            guard let range = request.headerFields[.range], let start = Int(range.dropFirst(6).dropLast()) else {
                fields[.contentLength] = "1000"
                let parts = AsyncThrowingStream<[UInt8], any Error> { feed in
                    feed.yield(Array(bytes.prefix(400)))
                    if request.url.host.name == "api.test" {
                        feed.finish(throwing: TransportError(.connectionLost, "cut"))
                    } else {
                        feed.yield(Array(bytes.dropFirst(400)))
                        feed.finish()
                    }
                }
                return TransportResponse(status: 200, headerFields: fields, url: request.url, body: ResponseBody(parts))
            }
            fields[.contentRange] = "bytes \(start)-999/1000"
            return TransportResponse(
                status: 206, headerFields: fields, url: request.url, body: ResponseBody(bytes: Array(bytes[start...])))
        }
        let session = try world.session()
        let request = URLRequest("https://api.test/file")
        let tokens = Shared<[ResumeToken]>([])
        _ = try? await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
        let token = try #require(tokens.value.last)
        #expect(token.offset == 400)
        target.value = "https://other.test/target"
        let (file, head) = try await session.download(for: request, resuming: token)
        #expect(head.statusCode == 200)
        #expect([UInt8](try Data(contentsOf: file)) == second)
        try FileManager.default.removeItem(at: file)
    }

    @Test("An answer that is an error has its own file, and the token remains valid")
    func errorAnswer() async throws {
        let files = FileServer(Content(size: 1 << 20, seed: 1))
        let isDown = Shared(false)
        let site = try await Site.start(versions: .http1) { request in
            isDown.value ? TestResponse(.serviceUnavailable, text: "later") : files.respond(to: request)
        }
        let session = try site.session()
        let token = try await interrupted(files, site, session)
        isDown.value = true
        let (other, head) = try await session.download(for: URLRequest(url: site.url("/file")), resuming: token)
        #expect(head.statusCode == 503)
        #expect(try Data(contentsOf: other) == Data("later".utf8))
        try FileManager.default.removeItem(at: other)
        isDown.value = false
        let (file, _) = try await session.download(for: URLRequest(url: site.url("/file")), resuming: token)
        #expect(try files.content.value.isContent(of: file))
        try FileManager.default.removeItem(at: file)
        await site.stop()
    }

    @Test("A request that cannot be resumed is refused before anything is sent")
    func badRequests() async throws {
        let world = try World()
        let session = try world.session()
        let url = try #require(URL(string: "https://api.test/file"))
        let file = try DownloadFile().keep()
        defer { try? FileManager.default.removeItem(at: file) }
        let token = ResumeToken(url: url, etag: "\"v1\"", offset: 0, total: 10, file: file, origin: "https://api.test:443")
        var ranged = URLRequest(url: url)
        ranged.setValue("bytes=1-", forHTTPHeaderField: "range")
        for request in [URLRequest("https://api.test/file", method: "POST"), URLRequest("https://api.test/file", body: "x"), ranged] {
            await #expect(throws: ApproovError(.badRequest, "")) { try await session.download(for: request, resuming: token) }
        }
        await #expect(throws: ApproovError(.badRequest, "")) {
            try await session.download(for: URLRequest("https://api.test/other"), resuming: token)
        }
        for (etag, offset) in [("W/\"v1\"", 0), ("\"v\"1\"", 0), ("\"v1\"", -1), ("\"v1\"", 11), ("\"a\r\nX: y\"", 0)] {
            let damaged = ResumeToken(url: url, etag: etag, offset: offset, total: 10, file: file, origin: token.origin)
            await #expect(throws: ApproovError(.badRequest, "")) {
                try await session.download(for: URLRequest(url: url), resuming: damaged)
            }
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A token whose file is missing, shorter, another user's file or a link is refused, and the file stays as it is")
    func badFiles() async throws {
        let world = try World()
        let session = try world.session()
        let url = try #require(URL(string: "https://api.test/file"))
        let folder = try TemporaryFolder()
        func file(_ name: String, mode: Int = 0o600) throws -> URL {
            let file = folder.url.appending(path: name)
            try Data("private".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path(percentEncoded: false))
            return file
        }
        func forged(_ name: String) throws -> URL { try #require(URL(string: folder.url.absoluteString + name)) }
        try FileManager.default.createDirectory(at: folder.url.appending(path: "approov-download-9"), withIntermediateDirectories: false)
        for name in ["keys.tmp", "\u{301}keys.tmp"] { _ = try file("approov-download-9/\(name)") }
        let good = try file("approov-download-1.tmp")
        let link = folder.url.appending(path: "approov-download-2.tmp")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: good)
        let hard = try file("approov-download-3.tmp")
        try FileManager.default.linkItem(at: hard, to: folder.url.appending(path: "approov-download-4.tmp"))
        let pipe = folder.url.appending(path: "approov-download-5.tmp")
        #expect(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
        for (file, offset) in [
            (try file("authorized_keys"), 3), (try file("approov-download-6.tmp", mode: 0o644), 3), (link, 3), (hard, 3), (pipe, 0),
            (good, 8), (folder.url.appending(path: "approov-download-7.tmp"), 0), (folder.url, 0), (url, 0),
            (try forged("authorized_keys%00/approov-download-8.tmp"), 3), (try forged("authorized_keys%00approov-download-8.tmp"), 3),
            (try forged("approov-download-9%2F..%2Fauthorized_keys%2F.tmp"), 0), (try forged("approov-download-9%2Fkeys.tmp"), 3),
            (try forged("approov-download-9/%CC%81keys.tmp"), 3),
        ] {
            let token = ResumeToken(url: url, etag: "\"v1\"", offset: offset, total: nil, file: file, origin: "https://api.test:443")
            await #expect(throws: ApproovError(.bodyFailed, "")) {
                try await session.download(for: URLRequest(url: url), resuming: token)
            }
        }
        #expect(world.transport.requests.isEmpty)
        #expect(try Data(contentsOf: good) == Data("private".utf8))
        #expect(try Data(contentsOf: hard) == Data("private".utf8))
    }
}
