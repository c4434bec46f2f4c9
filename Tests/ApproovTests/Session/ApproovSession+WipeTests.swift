import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S1.4, S1.9, S1.10, S1.12
/// What a session keeps of a user who is gone: nothing.
@Suite struct ApproovSessionWipeTests {
    /// A world whose API answers "/late" and "/late/plain" only once the gate is open, and sets no cookie in the second.
    private struct Late {
        let world: World
        let arrived = Gate()
        let gate = Gate()

        init() throws {
            world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
            let (arrived, gate) = (arrived, gate)
            world.api.value = { request in
                let who = request.headerFields[.authorization] ?? "no user"
                var fields: HTTPFields = [.setCookie: "user=\(who.split(separator: " ").last ?? ""); Path=/"]
                if request.url.target == "/wide" { fields = [.setCookie: "wide=1; Domain=example.com; Path=/"] }
                if request.url.target == "/late/plain" { fields = [:] }
                if request.url.target.hasPrefix("/late") {
                    arrived.open()
                    // A server does not stop because a client does.
                    await Task.detached { try? await gate.wait() }.value
                }
                let parts = AsyncStream<[UInt8]> { continuation in
                    continuation.yield(Array(who.utf8))
                    if request.url.target != "/endless" { continuation.finish() }
                }
                return TransportResponse(status: 200, headerFields: fields, url: request.url, body: ResponseBody(parts))
            }
        }
    }

    private func text(_ session: ApproovSession, _ url: String = "https://api.test/") async throws -> String {
        String(decoding: try await session.data(for: URLRequest(url)).0, as: UTF8.self)
    }

    @Test(
        "A request in flight when the user changes fails with CancellationError, and the response that arrives later leaves no cookie",
        arguments: ["/late", "/late/plain"])
    func inFlight(path: String) async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let old = Task { try await text(session, "https://api.test" + path) }
        try await late.arrived.wait()
        try holder.update("Bearer bob")
        late.gate.open()
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect(try await text(session) == "Bearer bob")
        #expect(late.world.apiRequests.last?.headerFields[.cookie] == nil)
        #expect(try await text(session) == "Bearer bob")
        #expect(late.world.apiRequests.last?.headerFields[.cookie] == "user=bob")
    }

    @Test("A request that has not reached a host when the user changes never does")
    func notSent() async throws {
        struct Slow: RequestInterceptor {
            let arrived = Gate()
            let gate = Gate()
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                arrived.open()
                await Task.detached { try? await gate.wait() }.value
                return request
            }
        }
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let slow = Slow()
        let session = try session(in: late.world, holder) { $0.interceptors = [slow] }
        let old = Task { try await text(session) }
        try await slow.arrived.wait()
        try holder.update("Bearer bob")
        slow.gate.open()
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect(late.world.apiRequests.isEmpty)
        #expect(await eventually { !late.world.service.isFetching })
        #expect(late.world.service.cachedTokenCount == 0)
    }

    @Test("Tokens bound to the user before are forgotten, also one that is being fetched, and unbound ones stay")
    func tokens() async throws {
        let late = try Late()
        let world = late.world
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: world, holder)
        _ = try await text(session)
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/")))
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://other.test/")), binding: "Bearer alice")
        #expect(world.service.cachedTokenCount == 3)
        try holder.update("Bearer bob")
        #expect(world.service.cachedTokenCount == 2)
        // The refresh in the background is gone as well.
        let before = world.authority.seen.value.attestations.count
        _ = try await text(session)
        #expect(world.authority.seen.value.attestations.count == before + 1)
        let (asked, gate) = (Gate(), Gate())
        world.authority.script.value.fault = { request in
            guard request.url.target == "/v1/attestations" else { return nil }
            asked.open()
            await Task.detached { try? await gate.wait() }.value
            return nil
        }
        try holder.update("Bearer carol")
        let old = Task { try await text(session) }
        try await asked.wait()
        try holder.update("Bearer dave")
        gate.open()
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect(await eventually { !world.service.isFetching })
        #expect(world.service.cachedTokenCount == 2)
    }

    @Test("A body that is being read ends with CancellationError, also when bytes have arrived")
    func bytes() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/endless"))
        var iterator = bytes.makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first == UInt8(ascii: "B"))
        try holder.update("Bearer bob")
        await #expect(throws: CancellationError.self) { try await iterator.next() }
        // One that waits for more is woken.
        let (chunks, _) = try await session.bytes(for: URLRequest("https://api.test/endless"))
        let began = Gate()
        let reader = Task {
            for try await _ in chunks.chunks { began.open() }
        }
        try await began.wait()
        try holder.update(nil)
        await #expect(throws: CancellationError.self) { try await reader.value }
        // A body that nothing has read yet.
        try holder.update("Bearer carol")
        let (unread, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        try holder.update("Bearer dave")
        await #expect(throws: CancellationError.self) { for try await _ in unread {} }
    }

    @Test("Tasks fail with CancellationError when the user changes while they run, and before they are resumed")
    func tasks() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let request = URLRequest("https://api.test/late")
        let running = AsyncStream<(any Error)?> { continuation in
            session.dataTask(with: request) { _, _, error in
                continuation.yield(error)
                continuation.finish()
            }.resume()
        }
        let created = Shared<ApproovTask?>(nil)
        let suspended = AsyncStream<(any Error)?> { continuation in
            created.value = session.downloadTask(with: request) { _, _, error in
                continuation.yield(error)
                continuation.finish()
            }
        }
        try await late.arrived.wait()
        try holder.update("Bearer bob")
        late.gate.open()
        for await error in running { #expect(error is CancellationError) }
        created.value?.resume()
        for await error in suspended { #expect(error is CancellationError) }
        #expect(late.world.apiRequests.count == 1)
    }

    @Test("A download that is wiped leaves no file")
    func downloads() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let old = Task { try await session.download(for: URLRequest("https://api.test/late")) }
        try await late.arrived.wait()
        try holder.update("Bearer bob")
        late.gate.open()
        await #expect(throws: CancellationError.self) { try await old.value }
        let flight = try #require(session.flights).begin(URLRequest("https://api.test/"))
        let file = FileManager.default.temporaryDirectory.appending(path: "wiped-\(UInt64.random(in: 0 ... .max))")
        await #expect(throws: CancellationError.self) {
            try await flight.run {
                try Data("alice".utf8).write(to: file)
                try holder.update("Bearer carol")
                return file
            } discard: {
                try? FileManager.default.removeItem(at: $0)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: file.path()))
    }

    @Test("Cookies that the credential's hosts would get are removed, and others stay")
    func cookies() async throws {
        let late = try Late()
        let wrapping = URLSessionConfiguration.ephemeral
        let storage = try #require(wrapping.httpCookieStorage)
        func set(_ name: String, domain: String) throws {
            storage.setCookie(try #require(HTTPCookie(properties: [.name: name, .value: "1", .domain: domain, .path: "/"])))
        }
        for (name, domain) in [
            ("exact", "api.test"), ("upper", "API.test"), ("parent", ".example.com"), ("below", "x.a.example.com"),
            ("belowDomain", ".a.example.com"),
            ("base", "example.com"), ("other", "other.test"), ("sibling", "b.example.com"), ("suffix", "notapi.test"),
        ] { try set(name, domain: domain) }
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder, hosts: ["api.test", "**.a.example.com"], wrapping: wrapping)
        try holder.update("Bearer bob")
        #expect(Set((storage.cookies ?? []).map(\.name)) == ["base", "other", "sibling", "suffix"])
        withExtendedLifetime(session) {}
    }

    @Test("A wipe of some hosts cancels the requests to them alone")
    func scope() async throws {
        let late = try Late()
        let session = try session(in: late.world, CredentialHolder("Bearer alice"), hosts: ["api.test", "other.test"])
        let wiped = Task { try await text(session, "https://api.test/late") }
        let kept = Task { try await text(session, "https://other.test/late") }
        #expect(await eventually { late.world.apiRequests.count == 2 })
        await session.wipe(.hosts([try HostPattern("api.test")]))
        late.gate.open()
        await #expect(throws: CancellationError.self) { try await wiped.value }
        #expect(try await kept.value == "Bearer alice")
        #expect(late.world.service.cachedTokenCount == 1)
    }

    @Test("A wipe of some URLs cancels the requests that went there, also before a redirect, and keeps tokens and cookies")
    func urls() async throws {
        let late = try Late()
        let session = try session(in: late.world, CredentialHolder("Bearer alice"), hosts: ["api.test", "other.test"])
        let api = late.world.api.value
        late.world.api.value = { request in
            guard request.url.target == "/moved" else { return try await api(request) }
            return TransportResponse(status: 307, headerFields: [.location: "/late"], url: request.url)
        }
        _ = try await text(session)
        let tokens = late.world.service.cachedTokenCount
        let wiped = Task { try await text(session, "https://api.test/moved") }
        // Its response sets no cookie.
        let kept = Task { try await text(session, "https://api.test/late/plain") }
        #expect(await eventually { late.world.apiRequests.count == 4 })
        await session.wipe(.urls([try URLGlob("https://api.test/mo*"), try URLGlob("https://third.test/**")]))
        late.gate.open()
        await #expect(throws: CancellationError.self) { try await wiped.value }
        #expect(try await kept.value == "Bearer alice")
        #expect(late.world.service.cachedTokenCount >= tokens)
        _ = try await text(session)
        #expect(late.world.apiRequests.last?.headerFields[.cookie] == "user=alice")
    }

    @Test(
        "A wipe of URLs finds a request by the path that an interceptor gave it, and by the one that the app asked for",
        arguments: ["asked", "late"])
    func changedPath(name: String) async throws {
        struct Rewriting: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.url = URL(string: "https://api.test/late")
                return request
            }
        }
        let late = try Late()
        let session = try session(in: late.world, CredentialHolder("Bearer alice")) { $0.interceptors = [Rewriting()] }
        let wiped = Task { try await text(session, "https://api.test/asked") }
        try await late.arrived.wait()
        await session.wipe(.urls([try URLGlob("https://api.test/\(name)")]))
        late.gate.open()
        await #expect(throws: CancellationError.self) { try await wiped.value }
    }

    @Test("A session without a credential can be wiped, and cancels its requests if it tracks them", arguments: [true, false])
    func untracked(tracks: Bool) async throws {
        let late = try Late()
        var configuration = ApproovSessionConfiguration()
        configuration.tracksRequests = tracks
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: late.world.service,
            trustManager: ApproovTrustManager(anchors: .of(late.world.account.root), logger: .silent), configuration: configuration)
        _ = try await text(session)
        let old = Task { try await text(session, "https://api.test/late") }
        try await late.arrived.wait()
        await session.wipe()
        late.gate.open()
        if tracks {
            await #expect(throws: CancellationError.self) { try await old.value }
        } else {
            #expect(try await old.value == "no user")
        }
        #expect(late.world.apiRequests.count == 2)
        #expect(late.world.apiRequests.last?.headerFields[.cookie] == "user=user")
        if tracks {
            _ = try await text(session)
            #expect(late.world.apiRequests.last?.headerFields[.cookie] == nil)
        }
    }

    @Test("With a credential that does not wipe on change, a request in flight ends with the old value, and the next one has the new")
    func keeps() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder) { settings in
            settings.credential = settings.credential.map { .header("Authorization", holder, for: $0.hosts, wipesOnChange: false) }
        }
        let old = Task { try await text(session, "https://api.test/late") }
        try await late.arrived.wait()
        try holder.update("Bearer bob")
        late.gate.open()
        #expect(try await old.value == "Bearer alice")
        #expect(try await text(session) == "Bearer bob")
    }

    @Test("With a credential that does not wipe on change, a request that waits at the gate meanwhile is not sent for the next user")
    func notForTheNextUser() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let gate = RequestGate()
        let session = try session(in: late.world, holder) { settings in
            settings.credential = settings.credential.map { .header("Authorization", holder, for: $0.hosts, wipesOnChange: false) }
            settings.gate = gate
        }
        gate.pause()
        let old = Task { try await text(session) }
        #expect(await eventually { gate.waitingCount == 1 })
        try holder.update("Bearer bob")
        gate.resume()
        await #expect(throws: ApproovError(.credentialMissing, "")) { try await old.value }
        #expect(late.world.apiRequests.isEmpty)
        #expect(try await text(session) == "Bearer bob")
    }

    @Test("Requests that ended are not kept, whatever became of their answers")
    func forgotten() async throws {
        let late = try Late()
        let session = try session(in: late.world, CredentialHolder("Bearer alice"))
        let flights = try #require(session.flights)
        _ = try await text(session)
        _ = try? await text(session, "https://api.test/\u{1}")
        do {
            let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/endless"))
            #expect(flights.count == 1)
            withExtendedLifetime(bytes) {}
        }
        #expect(await eventually { flights.count == 0 })
    }

    @Test("Code of an actor that changes the user never gets an answer of the user before")
    func actorCode() async throws {
        actor Screen {
            let holder: CredentialHolder
            let session: ApproovSession
            var user = "Bearer 0"
            var strangers = 0
            var answers = 0
            init(_ holder: CredentialHolder, _ session: ApproovSession) {
                self.holder = holder
                self.session = session
            }
            func logIn(_ number: Int) throws {
                user = "Bearer \(number)"
                try holder.update(user)
            }
            func load() async {
                guard let (data, _) = try? await session.data(for: URLRequest("https://api.test/")) else { return }
                answers += 1
                if String(decoding: data, as: UTF8.self) != user { strangers += 1 }
            }
            func read() async {
                guard let (bytes, _) = try? await session.bytes(for: URLRequest("https://api.test/")) else { return }
                var text = ""
                do {
                    for try await byte in bytes {
                        text.unicodeScalars.append(Unicode.Scalar(byte))
                        if !user.hasPrefix(text) { strangers += 1 }
                    }
                    answers += 1
                } catch {}
            }
        }
        let late = try Late()
        let holder = try CredentialHolder("Bearer 0")
        let screen = Screen(holder, try session(in: late.world, holder, bindHeader: nil))
        try await withThrowingTaskGroup { group in
            for number in 1...50 {
                for _ in 0..<20 {
                    group.addTask { await screen.load() }
                    group.addTask { await screen.read() }
                }
                group.addTask { try await screen.logIn(number) }
            }
            try await group.waitForAll()
        }
        #expect(await screen.strangers == 0)
        await screen.load()
        #expect(await screen.answers > 0)
    }

    @Test("A download that can be resumed and is wiped leaves no file, and gives no further token")
    func resumable() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let arrived = Gate()
        late.world.api.value = { request in
            let isBegun = Shared(false)
            // Fails when it is cancelled, as a transfer does.
            let parts = AsyncThrowingStream<[UInt8], any Error> {
                guard isBegun.value else {
                    isBegun.value = true
                    return Array("alice's".utf8)
                }
                arrived.open()
                try await waitForCancellation()
            }
            return TransportResponse(
                status: 200, headerFields: [.eTag: "\"v1\"", .contentLength: "12"], url: request.url, body: ResponseBody(parts))
        }
        let tokens = Shared<[ResumeToken]>([])
        let request = URLRequest("https://api.test/")
        let old = Task {
            try await session.download(for: request, resuming: nil) { token in
                tokens.change { $0.append(token) }
            } onProgress: { _ in
            }
        }
        try await arrived.wait()
        #expect(await eventually { tokens.value.count == 1 })
        try holder.update("Bearer bob")
        await #expect(throws: CancellationError.self) { try await old.value }
        let token = try #require(tokens.value.first)
        #expect(tokens.value.count == 1)
        try #require(!FileManager.default.fileExists(atPath: token.file.path()))
        #expect(await codeThrown(as: ApproovError.self) { try await session.download(for: request, resuming: token) } == .bodyFailed)
    }

    @Test("A wiped request for the rest of a download removes the file of its token", arguments: [206, 404])
    func resumed(status: Int) async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        late.world.api.value = { request in
            guard request.headerFields[.range] != nil else {
                let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                    continuation.yield(Array("alice's".utf8))
                    continuation.finish(throwing: TransportError(.connectionLost, "gone"))
                }
                return TransportResponse(
                    status: 200, headerFields: [.eTag: "\"v1\"", .contentLength: "12"], url: request.url, body: ResponseBody(parts))
            }
            // Wiped while the answer comes, which does not stop for that.
            let parts = AsyncStream<[UInt8]> { continuation in
                try? holder.update("Bearer bob")
                continuation.yield(Array(" mail".utf8))
                continuation.finish()
            }
            return TransportResponse(
                status: status, headerFields: [.eTag: "\"v1\"", .contentRange: "bytes 7-11/12"], url: request.url,
                body: ResponseBody(parts))
        }
        let tokens = Shared<[ResumeToken]>([])
        let request = URLRequest("https://api.test/")
        _ = try? await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
        let token = try #require(tokens.value.last)
        #expect(token.offset == 7 && FileManager.default.fileExists(atPath: token.file.path()))
        tokens.value = []
        await #expect(throws: CancellationError.self) {
            try await session.download(for: request, resuming: token) { token in tokens.change { $0.append(token) } }
        }
        #expect(!FileManager.default.fileExists(atPath: token.file.path()))
        #expect(tokens.value.isEmpty)
    }

    @Test("The handler of a task does not get a response that is wiped after it was read, and the file of a download is removed")
    func handlers() async throws {
        let late = try Late()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: late.world, holder)
        let head = try #require(
            HTTPURLResponse(url: URL(filePath: "/"), statusCode: 200, httpVersion: "HTTP/1.1", headerFields: nil))
        let request = URLRequest("https://api.test/")
        let answers = AsyncStream<(Bool, (any Error)?)> { continuation in
            session.task(request) { data, response, error in
                continuation.yield((data == nil && response == nil, error))
                continuation.finish()
            } _: { _, _ in
                try holder.update("Bearer bob")
                return (Data("alice".utf8), head)
            }.resume()
        }
        for await (isEmpty, error) in answers { #expect(isEmpty && error is CancellationError) }
        let file = FileManager.default.temporaryDirectory.appending(path: "wiped-\(UInt64.random(in: 0 ... .max))")
        let files = AsyncStream<(Bool, (any Error)?)> { continuation in
            session.fileTask(request) { url, response, error in
                continuation.yield((url == nil && response == nil, error))
                continuation.finish()
            } _: { _, _ in
                try Data("alice".utf8).write(to: file)
                try holder.update("Bearer carol")
                return (file, head)
            }.resume()
        }
        for await (isEmpty, error) in files { #expect(isEmpty && error is CancellationError) }
        #expect(!FileManager.default.fileExists(atPath: file.path()))
    }
}
