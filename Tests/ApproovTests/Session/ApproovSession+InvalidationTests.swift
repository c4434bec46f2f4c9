import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S1.11, S2.27
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ApproovSessionInvalidationTests {
    /// Answers /wait once the gate is open, and /endless without an end.
    private static func site(_ gate: Gate) async throws -> Site {
        try await Site.start { request in
            if request.path == "/wait" { try await gate.wait() }
            guard request.path == "/endless" else { return TestResponse(text: "answer") }
            return TestResponse(length: nil) { _ in [UInt8](repeating: 1, count: 10_000) }
        }
    }

    @Test("A cancelled session ends what is under way and refuses what follows, and other sessions go on")
    func cancel() async throws {
        let gate = Gate()
        let site = try await Self.site(gate)
        let (session, other) = (try site.session(), try site.session())
        let waiting = Task { try await session.data(from: site.url("/wait")) }
        let foreign = Task { try await other.data(from: site.url("/wait")) }
        let (bytes, _) = try await session.bytes(from: site.url("/endless"))
        #expect(await eventually { site.server.counters.requests == 3 })
        session.invalidateAndCancel()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await waiting.value }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { for try await _ in bytes {} }
        let error = await #expect(throws: ApproovError.self) { try await session.data(from: site.url("/")) }
        #expect(error?.code == .sessionInvalidated)
        #expect(error?.isRetryable == false)
        gate.open()
        #expect(try await foreign.value.0 == Data("answer".utf8))
        #expect(site.server.counters.requests == 3)
        await site.stop()
    }

    @Test("A session that finishes lets what is under way end, and refuses what follows")
    func finish() async throws {
        let gate = Gate()
        let site = try await Self.site(gate)
        let session = try site.session()
        let waiting = Task { try await session.data(from: site.url("/wait")) }
        #expect(await eventually { site.server.counters.requests == 1 })
        session.finishTasksAndInvalidate()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.data(from: site.url("/")) }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.download(from: site.url("/")) }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.bytes(from: site.url("/")) }
        gate.open()
        #expect(try await waiting.value.0 == Data("answer".utf8))
        #expect(site.server.counters.requests == 1)
        // Finishing after that changes nothing, and cancelling still ends everything.
        session.finishTasksAndInvalidate()
        session.invalidateAndCancel()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.data(from: site.url("/")) }
        await site.stop()
    }

    @Test("A retrier cannot send a request again in a cancelled session, and a task's handler gets the error")
    func retrier() async throws {
        struct Again: RequestInterceptor {
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision { .retry }
        }
        let gate = Gate()
        let site = try await Self.site(gate)
        var configuration = ApproovSessionConfiguration()
        configuration.interceptors = [Again()]
        let session = try site.session(configuration)
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Error)?, Never>) in
            session.dataTask(with: site.url("/wait")) { _, _, error in continuation.resume(returning: error) }.resume()
            Task {
                _ = await eventually { site.server.counters.requests == 1 }
                session.invalidateAndCancel()
            }
        }
        #expect((error as? ApproovError)?.code == .sessionInvalidated)
        #expect(site.server.counters.requests == 1)
        gate.open()
        await site.stop()
    }

    /// The tasks of each kind that are made and not started, and the outcomes that their handlers got.
    private func tasks(of session: ApproovSession, _ url: URL) -> (tasks: [ApproovTask], outcomes: Shared<[Result<Int, any Error>]>) {
        let outcomes = Shared<[Result<Int, any Error>]>([])
        @Sendable func note(_ response: URLResponse?, _ error: (any Error)?) {
            outcomes.change { $0.append(error.map { .failure($0) } ?? .success((response as? HTTPURLResponse)?.statusCode ?? 0)) }
        }
        let tasks = [
            session.dataTask(with: url) { _, response, error in note(response, error) },
            session.downloadTask(with: url) { _, response, error in note(response, error) },
            session.uploadTask(with: URLRequest(url.absoluteString, method: "PUT"), from: Data("x".utf8)) { _, response, error in
                note(response, error)
            },
        ]
        return (tasks, outcomes)
    }

    @Test("A cancelled session ends the tasks that were made and not started with CancellationError, and nothing is sent for them")
    func unstartedTasks() async throws {
        let site = try await Self.site(Gate())
        let session = try site.session()
        let (tasks, outcomes) = tasks(of: session, site.url("/"))
        let (others, otherOutcomes) = self.tasks(of: try site.session(), site.url("/"))
        session.invalidateAndCancel()
        #expect(await eventually { tasks.allSatisfy { $0.state == .completed } })
        #expect(outcomes.value.count == 3)
        for outcome in outcomes.value { #expect(throws: CancellationError.self) { try outcome.get() } }
        for task in tasks { task.resume() }
        #expect(tasks.allSatisfy { $0.state == .completed } && others.allSatisfy { $0.state == .suspended })
        #expect(otherOutcomes.value.isEmpty)
        // A task that is made afterwards gets the error of every other request.
        let (late, lateOutcomes) = self.tasks(of: session, site.url("/"))
        for task in late { task.resume() }
        #expect(await eventually { late.allSatisfy { $0.state == .completed } })
        #expect(lateOutcomes.value.count == 3)
        for outcome in lateOutcomes.value { #expect(throws: ApproovError(.sessionInvalidated, "")) { try outcome.get() } }
        #expect(outcomes.value.count == 3 && site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("A session that finishes lets the tasks that exist start and end, and no task that is made afterwards")
    func tasksOfFinishing() async throws {
        let site = try await Self.site(Gate())
        let session = try site.session()
        let (tasks, outcomes) = tasks(of: session, site.url("/"))
        session.finishTasksAndInvalidate()
        let (late, lateOutcomes) = self.tasks(of: session, site.url("/"))
        for task in tasks + late { task.resume() }
        #expect(await eventually { (tasks + late).allSatisfy { $0.state == .completed } })
        #expect(outcomes.value.map { try? $0.get() } == [200, 200, 200])
        for outcome in lateOutcomes.value { #expect(throws: ApproovError(.sessionInvalidated, "")) { try outcome.get() } }
        #expect(lateOutcomes.value.count == 3 && site.server.counters.requests == 3)
        await site.stop()
    }

    @Test("A session made with adding ends with the original, and the original with it", arguments: [false, true], [false, true])
    func adding(isOriginalEnded: Bool, isCancelled: Bool) async throws {
        let gate = Gate()
        let site = try await Self.site(gate)
        let original = try site.session()
        let added = try original.adding(interceptors: [])
        let (ended, other) = isOriginalEnded ? (original, added) : (added, original)
        let waiting = Task { try await other.data(from: site.url("/wait")).0 }
        #expect(await eventually { site.server.counters.requests == 1 })
        if isCancelled { ended.invalidateAndCancel() } else { ended.finishTasksAndInvalidate() }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await other.data(from: site.url("/")) }
        if !isCancelled { gate.open() }
        let result = await waiting.result
        #expect((try? result.get()) == (isCancelled ? nil : Data("answer".utf8)))
        gate.open()
        #expect(site.server.counters.requests == 1)
        await site.stop()
    }

    @Test("A request that waits at a gate fails when it passes in a cancelled session, and nothing is sent")
    func atGate() async throws {
        let site = try await Self.site(Gate())
        let gate = RequestGate()
        var configuration = ApproovSessionConfiguration()
        configuration.gate = gate
        let session = try site.session(configuration)
        gate.pause()
        let waiting = Task { try await session.data(from: site.url("/")) }
        #expect(await eventually { gate.waitingCount == 1 })
        session.invalidateAndCancel()
        gate.resume()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await waiting.value }
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }
}

/// A session that is invalidated while its requests wait, on a clock that stands still.
@Suite struct ApproovSessionInvalidationWaitingTests {
    /// Expects that a waiting request ends with the session, and that none of it reaches its host.
    private func expectEnd(
        of session: ApproovSession, _ world: World, requests: Int = 0, _ isWaiting: () -> Bool, otherwise free: () -> Void
    ) async {
        let ended = Gate()
        let waiting = Task {
            defer { ended.open() }
            return try await session.data(for: URLRequest("https://api.test/", ["Api-Key": "maps-key"]))
        }
        #expect(await eventually { isWaiting() })
        session.invalidateAndCancel()
        #expect(await eventually(within: .seconds(20)) { ended.isOpen })
        // Lets a request that still waits end.
        free()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await waiting.value }
        #expect(world.apiRequests.count { $0.url.target == "/" } == requests)
    }

    @Test("A request that waits at a gate ends at once")
    func gate() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let session = try world.configured { $0.gate = gate }
        let other = try world.configured { $0.gate = gate }
        gate.pause(for: .seconds(3_600))
        let foreign = Task { try await other.data(for: URLRequest("https://api.test/other")).1.statusCode }
        #expect(await eventually { gate.waitingCount == 1 })
        await expectEnd(of: session, world) {
            gate.waitingCount == 2
        } otherwise: {
            // Another session's request at the same gate stays.
            #expect(gate.waitingCount == 1)
            gate.resume()
        }
        #expect(try await foreign.value == 200)
    }

    @Test("A request that waits for a token, or for a secure string, ends at once", arguments: [true, false])
    func attestation(isAttested: Bool) async throws {
        let world = try World(hosts: ["api.test": .pinned.with { $0.attested = isAttested }, "other.test": .pinned])
        let (asked, answer) = (Gate(), Gate())
        world.authority.script.value.fault = { request in
            guard request.url.target == "/v1/attestations" else { return nil }
            asked.open()
            await Task.detached { try? await answer.wait() }.value
            return nil
        }
        let session = try world.configured { configuration in
            configuration.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])]
        }
        await expectEnd(of: session, world) {
            asked.isOpen
        } otherwise: {
            answer.open()
        }
    }

    @Test("A request that waits before it is sent again ends at once")
    func retry() async throws {
        struct Later: RequestInterceptor {
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
                .retryAfter(.seconds(60))
            }
        }
        let world = try World()
        let session = try world.session(interceptors: [Later()])
        await expectEnd(of: session, world, requests: 1) {
            world.apiRequests.count == 1 && world.clock.sleeperCount > 0
        } otherwise: {
            world.clock.advance(by: .seconds(60))
        }
    }

    @Test("A suspended task ends at once")
    func suspended() async throws {
        let world = try World()
        let (arrived, answer) = (Gate(), Gate())
        world.api.value = { request in
            if request.url.target == "/next" { return TransportResponse(status: 200, url: request.url) }
            arrived.open()
            try await answer.wait()
            return TransportResponse(status: 302, headerFields: [.location: "/next"], url: request.url)
        }
        let session = try world.session()
        let result = Shared<(any Error)?>(nil)
        let task = session.dataTask(with: URLRequest("https://api.test/")) { _, _, error in result.value = error }
        task.resume()
        try await arrived.wait()
        task.suspend()
        let sleepers = world.clock.sleeperCount
        answer.open()
        #expect(await eventually { world.clock.sleeperCount > sleepers })
        session.invalidateAndCancel()
        #expect(await eventually(within: .seconds(20)) { task.state == .completed })
        task.resume()
        #expect(await eventually { result.value != nil })
        #expect((result.value as? ApproovError)?.code == .sessionInvalidated)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A download that begins again, because the server sent another part, goes on in a session that finishes")
    func restartedDownload() async throws {
        let world = try World()
        let session = try world.session()
        let content = Array("the content.".utf8)
        let isFinished = Shared(false)
        world.api.value = { request in
            guard request.headerFields[.range] == nil else {
                session.finishTasksAndInvalidate()
                isFinished.value = true
                return TransportResponse(
                    status: 206, headerFields: [.eTag: "\"v2\"", .contentRange: "bytes 7-11/12"], url: request.url,
                    body: ResponseBody(bytes: Array(content[7...])))
            }
            guard isFinished.value else {
                let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                    continuation.yield(Array(content[..<7]))
                    continuation.finish(throwing: TransportError(.connectionLost, "gone"))
                }
                return TransportResponse(
                    status: 200, headerFields: [.eTag: "\"v1\"", .contentLength: "12"], url: request.url, body: ResponseBody(parts))
            }
            return TransportResponse(status: 200, headerFields: [:], url: request.url, body: ResponseBody(bytes: content))
        }
        let tokens = Shared<[ResumeToken]>([])
        let request = URLRequest("https://api.test/file")
        _ = try? await session.download(for: request, resuming: nil) { token in tokens.change { $0.append(token) } }
        let token = try #require(tokens.value.last)
        let (file, _) = try await session.download(for: request, resuming: token)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(content))
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.data(for: request) }
    }

    @Test("A task that is made after a session was finished waits for its start, also when the session is then cancelled")
    func lateTask() async throws {
        let world = try World()
        let session = try world.session()
        session.finishTasksAndInvalidate()
        let errors = Shared<[any Error]>([])
        let task = session.dataTask(with: try #require(URL(string: "https://api.test/"))) { _, _, error in
            if let error { errors.change { $0.append(error) } }
        }
        session.invalidateAndCancel()
        #expect(task.state == .suspended && errors.value.isEmpty)
        task.resume()
        #expect(await eventually { task.state == .completed })
        #expect(errors.value.map { ($0 as? ApproovError)?.code } == [.sessionInvalidated])
        #expect(world.apiRequests.isEmpty)
    }
}
