import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

// Acceptance list: S2.2, S2.4, S2.5, S2.68
@Suite struct RequestGateTests {
    /// A world with a gate on the same clock.
    private struct Gated {
        let world: World
        let gate: RequestGate

        // A gate with its default bound if none is given.
        init(maximumWaiting: Int? = nil) throws {
            world = try World()
            let clock = world.clock
            gate = maximumWaiting.map { RequestGate(maximumWaiting: $0, clock: clock) } ?? RequestGate(clock: clock)
        }

        func session(interceptors: [any RequestInterceptor] = [], total: TimeInterval = 3_600) throws -> ApproovSession {
            var configuration = ApproovSessionConfiguration()
            configuration.gate = gate
            configuration.interceptors = interceptors
            let wrapping = URLSessionConfiguration.ephemeral
            wrapping.timeoutIntervalForResource = total
            return try ApproovSession(
                wrapping: URLSession(configuration: wrapping), service: world.service,
                trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        }

        var paths: [String] { world.apiRequests.map(\.url.target) }
    }

    /// What an interceptor does.
    private struct Hook: RequestInterceptor {
        var onAdapt: @Sendable (URLRequest) async throws -> Void = { _ in }
        var onRetry: @Sendable (RequestOutcome) async -> RetryDecision = { _ in .doNotRetry }

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            try await onAdapt(request)
            return request
        }

        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision { await onRetry(outcome) }
    }

    private func get(_ path: String, _ session: ApproovSession) async throws -> String {
        String(decoding: try await session.data(for: URLRequest("https://api.test\(path)")).0, as: UTF8.self)
    }

    @Test("A paused gate holds requests before anything is sent for them, and lets them pass when it is resumed")
    func pause() async throws {
        let gated = try Gated()
        let session = try gated.session()
        gated.gate.pause()
        async let first = get("/1", session)
        async let second = get("/2", session)
        #expect(await eventually { gated.gate.waitingCount == 2 })
        #expect(gated.world.transport.requests.isEmpty)
        gated.gate.resume()
        #expect(try await [first, second] == ["/1", "/2"])
        #expect(gated.gate.waitingCount == 0 && gated.gate.outgoingCount == 0)
    }

    @Test(
        "A gate that is never resumed opens at the end of its pause: 30 s if it names no time, and never later than the longest pause",
        arguments: [
            (.seconds(5), .seconds(5)), (nil, .seconds(30)), (RequestGate.longestPause + .seconds(1), RequestGate.longestPause),
            (RequestGate.longestPause * 1_000, RequestGate.longestPause),
        ] as [(Duration?, Duration)])
    func neverResumed(limit: Duration?, end: Duration) async throws {
        let gated = try Gated()
        // Longer than any pause, so that the pause ends first.
        let session = try gated.session(total: 7_200)
        if let limit { gated.gate.pause(for: limit) } else { gated.gate.pause() }
        async let answer = get("/1", session)
        // The pause and the request's deadline sleep.
        #expect(await eventually { gated.gate.waitingCount == 1 && gated.world.clock.sleeperCount >= 2 })
        gated.world.clock.advance(by: end - .seconds(1))
        #expect(!gated.gate.isOpen && gated.gate.waitingCount == 1)
        gated.world.clock.advance(by: .seconds(1))
        #expect(gated.gate.isOpen)
        #expect(try await answer == "/1")
    }

    @Test("A shorter pause does not end a longer one")
    func overlappingPauses() async throws {
        let gated = try Gated()
        let session = try gated.session()
        gated.gate.pause(for: .seconds(60))
        gated.gate.pause(for: .seconds(30))
        let answer = Task { try await get("/1", session) }
        #expect(await eventually { gated.gate.waitingCount == 1 && gated.world.clock.sleeperCount >= 2 })
        let sleepers = gated.world.clock.sleeperCount
        gated.world.clock.advance(by: .seconds(30))
        #expect(await eventually(within: .seconds(20)) { gated.world.clock.sleeperCount == sleepers })
        #expect(gated.gate.waitingCount == 1)
        gated.world.clock.advance(by: .seconds(30))
        #expect(await eventually(within: .seconds(20)) { gated.gate.waitingCount == 0 })
        gated.gate.empty()
        #expect(try await answer.value == "/1")
    }

    @Test("Waiting counts against the total timeout, and a cancelled request leaves the queue at once")
    func leaving() async throws {
        let gated = try Gated()
        let session = try gated.session(total: 10)
        gated.gate.pause(for: .seconds(3_600))
        let late = Task { try await get("/late", session) }
        #expect(await eventually { gated.gate.waitingCount == 1 && gated.world.clock.sleeperCount >= 2 })
        gated.world.clock.advance(by: .seconds(10))
        await #expect(throws: ApproovError(.timedOut, "")) { try await late.value }
        #expect(gated.gate.waitingCount == 0)

        let cancelled = Task { try await get("/cancelled", session) }
        #expect(await eventually { gated.gate.waitingCount == 1 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(gated.gate.waitingCount == 0)
        #expect(gated.world.transport.requests.isEmpty)
    }

    @Test("A request that finds the queue full is refused, and may be sent again")
    func full() async throws {
        let gated = try Gated(maximumWaiting: 2)
        let session = try gated.session()
        gated.gate.pause()
        async let first = get("/1", session)
        async let second = get("/2", session)
        #expect(await eventually { gated.gate.waitingCount == 2 })
        let error = await #expect(throws: ApproovError.self) { try await get("/3", session) }
        #expect(error?.code == .queueFull)
        #expect(error?.isRetryable == true)
        gated.gate.resume()
        _ = try await (first, second)
    }

    @Test("A gate holds a thousand requests unless the app says otherwise, and they all pass later")
    func defaultBound() async throws {
        let gated = try Gated()
        let session = try gated.session()
        gated.gate.pause()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...1_000 { group.addTask { _ = try await get("/\(number)", session) } }
            #expect(await eventually { gated.gate.waitingCount == 1_000 })
            #expect(await codeThrown(as: ApproovError.self) { try await get("/late", session) } == .queueFull)
            gated.gate.resume()
            try await group.waitForAll()
        }
        #expect(Set(gated.paths) == Set((1...1_000).map { "/\($0)" }))
    }

    @Test("Emptying the gate makes waiting requests fail with the app's error, and no retrier is asked")
    func empty() async throws {
        struct LoggedOut: Error {}
        let gated = try Gated()
        let session = try gated.session(interceptors: [Hook(onRetry: { _ in .retry })])
        for (thrown, code) in [
            (nil, .queueEmptied), (LoggedOut(), .queueEmptied), (ApproovError(.permanentError, "logged out"), .permanentError),
        ] as [((any Error)?, ApproovError.Code)] {
            gated.gate.pause()
            let request = Task { try await get("/1", session) }
            #expect(await eventually { gated.gate.waitingCount == 1 })
            gated.gate.empty(throwing: thrown)
            let error = await #expect(throws: ApproovError.self) { try await request.value }
            #expect(error?.code == code)
            #expect((error?.cause is LoggedOut) == (thrown is LoggedOut))
        }
        #expect(gated.world.transport.requests.isEmpty)
    }

    @Test("A barrier waits for what is outgoing and holds what comes, and its own requests pass")
    func barrier() async throws {
        let gated = try Gated()
        let session = try gated.session()
        let slow = Gate()
        gated.world.api.value = { request in
            if request.url.target == "/slow" { try await slow.wait() }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.target.utf8)))
        }
        async let first = get("/slow", session)
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths == ["/slow"] })
        let refreshed = Shared("")
        // The work waits for a request over the same gate, even from another task.
        async let barrier: Void = gated.gate.barrier {
            let answer = try await Task { try await get("/refresh", session) }.value
            refreshed.value = answer
        }
        #expect(await eventually { gated.gate.isOpen == false })
        async let next = get("/next", session)
        #expect(await eventually { gated.gate.waitingCount == 1 })
        #expect(gated.paths == ["/slow"])
        slow.open()
        try await barrier
        #expect(refreshed.value == "/refresh")
        #expect(try await [first, next] == ["/slow", "/next"])
        #expect(gated.paths == ["/slow", "/refresh", "/next"])
    }

    @Test("A barrier inside a barrier of the same gate is an error, and one of another gate is not")
    func nested() async throws {
        let gated = try Gated()
        let other = RequestGate(clock: gated.world.clock)
        await #expect(throws: ApproovError(.nestedBarrier, "")) {
            try await gated.gate.barrier { try await gated.gate.barrier {} }
        }
        await #expect(throws: ApproovError(.nestedBarrier, "")) {
            try await gated.gate.barrier { try await Task { try await gated.gate.barrier {} }.value }
        }
        let value = try await gated.gate.barrier { try await other.barrier { 7 } }
        #expect(value == 7)
        #expect(gated.gate.isOpen && other.isOpen)
    }

    @Test("A task that outlives its barrier waits like any other")
    func outlived() async throws {
        let gated = try Gated()
        let session = try gated.session()
        let late = Gate()
        let task = try await gated.gate.barrier {
            Task {
                try await late.wait()
                return try await get("/late", session)
            }
        }
        gated.gate.pause()
        late.open()
        #expect(await eventually { gated.gate.waitingCount == 1 })
        #expect(gated.paths.isEmpty)
        gated.gate.resume()
        #expect(try await task.value == "/late")
    }

    @Test("A barrier gives up when what is outgoing does not end, or when its work takes too long, and the gate opens")
    func barrierLimits() async throws {
        let gated = try Gated()
        let session = try gated.session()
        let slow = Gate()
        gated.world.api.value = { request in
            try await slow.wait()
            return TransportResponse(status: 200, url: request.url)
        }
        let request = Task { try await get("/slow", session) }
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths.count == 1 })
        let sleepers = gated.world.clock.sleeperCount
        let waiting = Task { try await gated.gate.barrier(waiting: .seconds(5)) {} }
        #expect(await eventually { !gated.gate.isOpen && gated.world.clock.sleeperCount > sleepers })
        gated.world.clock.advance(by: .seconds(5))
        await #expect(throws: ApproovError(.timedOut, "")) { try await waiting.value }
        #expect(gated.gate.isOpen)
        slow.open()
        _ = try await request.value

        let never = Gate()
        let before = gated.world.clock.sleeperCount
        let working = Task { try await gated.gate.barrier(limit: .seconds(7)) { try await never.wait() } }
        #expect(await eventually { never.waiterCount == 1 && gated.world.clock.sleeperCount > before })
        gated.world.clock.advance(by: .seconds(7))
        await #expect(throws: ApproovError(.timedOut, "")) { try await working.value }
        #expect(gated.gate.isOpen)
    }

    @Test("A barrier whose work throws, or ends because its task is cancelled, opens the gate")
    func failedBarrier() async throws {
        struct Broken: Error {}
        let gated = try Gated()
        await #expect(throws: Broken.self) { try await gated.gate.barrier { throw Broken() } }
        #expect(gated.gate.isOpen)
        let never = Gate()
        let first = Task { try await gated.gate.barrier { try await never.wait() } }
        #expect(await eventually { never.waiterCount == 1 })
        let second = Task { try await gated.gate.barrier {} }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(gated.gate.isOpen)
    }

    @Test("A barrier whose caller is cancelled holds requests until its work ends, and returns what the work returns")
    func cancelledBarrier() async throws {
        let gated = try Gated()
        let (begun, isTold, finishing) = (Gate(), Gate(), Gate())
        let barrier = Task {
            try await gated.gate.barrier {
                begun.open()
                do { try await waitForCancellation() } catch { isTold.open() }
                // Ends its work although it is cancelled.
                try? await Task.detached { try await finishing.wait() }.value
                return "renewed"
            }
        }
        try await begun.wait()
        barrier.cancel()
        try await isTold.wait()
        #expect(await eventually { finishing.waiterCount == 1 })
        #expect(!gated.gate.isOpen)
        finishing.open()
        #expect(try await barrier.value == "renewed")
        #expect(gated.gate.isOpen && gated.world.clock.sleeperCount == 0)
    }

    @Test("A barrier ends at its limit although its work goes on after its cancellation", arguments: [false, true])
    func endlessBarrier(isCancelled: Bool) async throws {
        let gated = try Gated()
        let (begun, finishing, hasEnded) = (Gate(), Gate(), Gate())
        let barrier = Task {
            defer { hasEnded.open() }
            try await gated.gate.barrier(limit: .seconds(60)) {
                begun.open()
                try? await Task.detached { try await finishing.wait() }.value
            }
        }
        try await begun.wait()
        #expect(await eventually { gated.world.clock.sleeperCount == 1 })
        if isCancelled { barrier.cancel() }
        gated.world.clock.advance(by: .seconds(60))
        #expect(await eventually { hasEnded.isOpen && gated.gate.isOpen })
        finishing.open()
        await #expect(throws: ApproovError(.timedOut, "")) { try await barrier.value }
    }

    @Test("A streamed response is outgoing until its head, and any other until the end of its body")
    func streams() async throws {
        let gated = try Gated()
        let session = try gated.session()
        let (parts, feed) = AsyncStream.makeStream(of: [UInt8].self)
        gated.world.api.value = { TransportResponse(status: 200, url: $0.url, body: ResponseBody(parts)) }
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/stream"))
        #expect(gated.gate.outgoingCount == 0)
        try await gated.gate.barrier {}
        async let whole = get("/whole", session)
        #expect(await eventually { gated.paths.count == 2 })
        #expect(gated.gate.outgoingCount == 1)
        feed.yield([0x61])
        feed.finish()
        #expect(try await whole == "a")
        #expect(gated.gate.outgoingCount == 0)
        _ = bytes
    }

    @Test("A barrier waits for the body of a response, also of one that retriers look at", arguments: [false, true])
    func bodies(hasInterceptor: Bool) async throws {
        let gated = try Gated()
        let session = try gated.session(interceptors: hasInterceptor ? [Hook()] : [])
        let (head, isRead, rest) = (Gate(), Gate(), Gate())
        let hasEnded = Shared(false)
        gated.world.api.value = { request in
            try await head.wait()
            let parts = AsyncStream<[UInt8]>(unfolding: {
                isRead.open()
                try? await rest.wait()
                return hasEnded.change { ended in
                    defer { ended = true }
                    return ended ? nil : [0x61]
                }
            })
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let answer = Task { try await get("/1", session) }
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths.count == 1 })
        let barrier = Task { try await gated.gate.barrier { hasEnded.value } }
        #expect(await eventually { !gated.gate.isOpen })
        head.open()
        try await isRead.wait()
        // A barrier that does not wait begins now.
        for _ in 0..<1_000 { await Task.yield() }
        rest.open()
        #expect(try await barrier.value)
        #expect(try await answer.value == "a")
        #expect(gated.gate.outgoingCount == 0)
    }

    @Test("A retrier sees the failure of a body behind a gate, and the answer of the next attempt is whole")
    func failedBody() async throws {
        let gated = try Gated()
        let session = try gated.session(
            interceptors: [
                Hook(onRetry: { outcome in
                    if case .failure = outcome { .retry } else { .doNotRetry }
                })
            ])
        gated.world.api.value = { request in
            let isFirst = gated.paths.count == 1
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([0x61])
                continuation.finish(throwing: isFirst ? TransportError(.connectionLost, "reset") : nil)
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        #expect(try await get("/1", session) == "a")
        #expect(gated.paths.count == 2)
        #expect(gated.gate.outgoingCount == 0)
    }

    @Test("A task that the work of a barrier starts passes the gate, and so does one that its completion handler starts")
    func taskInBarrier() async throws {
        let gated = try Gated()
        let session = try gated.session()
        let barrier = Task {
            try await gated.gate.barrier {
                await withCheckedContinuation { continuation in
                    session.dataTask(with: URLRequest("https://api.test/task")) { _, _, _ in
                        session.dataTask(with: URLRequest("https://api.test/next")) { data, _, _ in
                            continuation.resume(returning: data.map { String(decoding: $0, as: UTF8.self) })
                        }.resume()
                    }.resume()
                }
            }
        }
        #expect(await eventually(within: .seconds(20)) { gated.paths == ["/task", "/next"] })
        // Lets a task that waits for the barrier fail.
        gated.gate.empty()
        #expect(try await barrier.value == "/next")
    }

    @Test("A hundred requests whose interceptor waits for one renewal behind the gate are all answered after one renewal")
    func renewalInAdapt() async throws {
        /// Renews once for all.
        actor Renewal {
            private var task: Task<Void, any Error>?

            func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
                let task = task ?? Task { try await work() }
                self.task = task
                try await task.value
            }
        }
        let gated = try Gated()
        let (plain, renewal) = (try gated.session(), Renewal())
        let session = try gated.session(
            interceptors: [
                Hook(onAdapt: { _ in
                    try await renewal.run { try await gated.gate.barrier { _ = try await get("/renew", plain) } }
                })
            ])
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<100 { group.addTask { try await get("/\(number)", session) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(answers.count == 100)
        #expect(gated.paths.count == 101)
        #expect(gated.paths.first == "/renew")
    }

    @Test("A retrier may renew in a barrier after its request's response")
    func renewalInRetry() async throws {
        let gated = try Gated()
        let plain = try gated.session()
        let isRenewed = Shared(false)
        gated.world.api.value = { request in
            if request.url.target == "/renew" { isRenewed.value = true }
            return TransportResponse(status: isRenewed.value ? 200 : 401, url: request.url)
        }
        let session = try gated.session(
            interceptors: [
                Hook(onRetry: { outcome in
                    guard case .response(let head) = outcome, head.statusCode == 401 else { return .doNotRetry }
                    do {
                        try await gated.gate.barrier { _ = try await get("/renew", plain) }
                    } catch {
                        return .doNotRetry
                    }
                    return .retry
                })
            ])
        let (_, response) = try await session.data(for: URLRequest("https://api.test/1"))
        #expect(response.statusCode == 200)
        #expect(gated.paths == ["/1", "/renew", "/1"])
        #expect(gated.gate.outgoingCount == 0)
    }

    @Test("An interceptor that waits for what is under way adapts alone, once for a hundred requests, and others go on meanwhile")
    func awaitsOutgoing() async throws {
        /// Renews an expired token while nothing else is under way.
        struct Renewing: RequestInterceptor {
            let isExpired = Shared(true)
            let renewals = Shared(0)
            let outgoing = Shared(0)
            let gate: RequestGate
            let plain: ApproovSession

            var gateBehavior: GateBehavior { isExpired.value ? .awaitsOutgoing : .none }

            func adapt(_ request: URLRequest) async throws -> URLRequest {
                guard isExpired.value else { return request }
                outgoing.change { $0 += gate.outgoingCount }
                _ = try await plain.data(for: URLRequest("https://api.test/renew"))
                renewals.change { $0 += 1 }
                isExpired.value = false
                return request
            }
        }
        let gated = try Gated()
        let plain = try gated.session()
        let renewing = Renewing(gate: gated.gate, plain: plain)
        let session = try gated.session(interceptors: [renewing])
        let slow = Gate()
        gated.world.api.value = { request in
            if request.url.target == "/slow" { try await slow.wait() }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.target.utf8)))
        }
        async let first = get("/slow", plain)
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths == ["/slow"] })
        let crowd = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<100 { group.addTask { try await get("/\(number)", session) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
        }
        #expect(await eventually { !gated.gate.isOpen })
        #expect(gated.paths == ["/slow"])
        slow.open()
        #expect(try await first == "/slow")
        #expect(try await crowd.value.count == 100)
        #expect(renewing.renewals.value == 1 && renewing.outgoing.value == 0)
        #expect(gated.paths.prefix(2) == ["/slow", "/renew"] && gated.paths.count == 102)
        // Without a gate, and in the work of a barrier, it is called at once.
        renewing.isExpired.value = true
        let open = try gated.world.session(interceptors: [renewing])
        #expect(try await get("/open", open) == "/open")
        renewing.isExpired.value = true
        #expect(try await gated.gate.barrier { try await get("/inside", session) } == "/inside")
        #expect(renewing.renewals.value == 3 && gated.gate.isOpen && gated.gate.outgoingCount == 0)
    }

    /// Adds nothing, in a barrier while a token has expired.
    private struct Awaiting: RequestInterceptor {
        let gate: RequestGate
        let isExpired = Shared(true)
        /// The calls in the work of a barrier, and the others.
        let inside = Shared(0)
        let outside = Shared(0)

        var gateBehavior: GateBehavior { isExpired.value ? .awaitsOutgoing : .none }

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            (gate.isHolder ? inside : outside).change { $0 += 1 }
            isExpired.value = false
            return request
        }
    }

    @Test("Of the requests that wait for what is under way because of one expired token, only the first adapts in a barrier")
    func oneBarrier() async throws {
        let gated = try Gated()
        let plain = try gated.session()
        let awaiting = Awaiting(gate: gated.gate)
        let ready = Gate()
        // Holds the requests until all are there, so that each of them finds the token expired.
        let session = try gated.session(interceptors: [Hook(onAdapt: { _ in try await ready.wait() }), awaiting])
        let slow = Gate()
        gated.world.api.value = { request in
            if request.url.target == "/slow" { try await slow.wait() }
            return TransportResponse(status: 200, url: request.url)
        }
        async let first = get("/slow", plain)
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths == ["/slow"] })
        let tasks = (0..<20).map { number in Task { try await get("/\(number)", session) } }
        #expect(await eventually { ready.waiterCount == 20 })
        let sleepers = gated.world.clock.sleeperCount
        ready.open()
        // Each barrier's waiting sleeps, at least.
        #expect(await eventually { gated.world.clock.sleeperCount >= sleepers + 20 })
        slow.open()
        _ = try await first
        for task in tasks { _ = try await task.value }
        #expect(awaiting.inside.value == 1)
        #expect(gated.gate.isOpen && gated.gate.outgoingCount == 0)
    }

    @Test(
        "An interceptor's waiting for what is under way counts against the total timeout, and ends with the session",
        arguments: [false, true])
    func awaitingEnds(isInvalidated: Bool) async throws {
        let gated = try Gated()
        let plain = try gated.session()
        let session = try gated.session(interceptors: [Awaiting(gate: gated.gate)], total: 10)
        let slow = Gate()
        gated.world.api.value = { request in
            try await slow.wait()
            return TransportResponse(status: 200, url: request.url)
        }
        async let first = get("/slow", plain)
        #expect(await eventually { gated.gate.outgoingCount == 1 && gated.paths == ["/slow"] })
        let before = gated.world.clock.sleeperCount
        let code = Shared<ApproovError.Code?>(nil)
        let task = Task { code.value = await codeThrown(as: ApproovError.self) { try await get("/1", session) } }
        // The barrier's waiting and the request's deadline sleep.
        #expect(await eventually { !gated.gate.isOpen && gated.world.clock.sleeperCount >= before + 2 })
        if isInvalidated { session.invalidateAndCancel() } else { gated.world.clock.advance(by: .seconds(10)) }
        #expect(await eventually { code.value != nil })
        #expect(code.value == (isInvalidated ? .sessionInvalidated : .timedOut))
        #expect(gated.gate.isOpen && gated.paths == ["/slow"])
        slow.open()
        _ = try await first
        await task.value
    }

    @Test("A request that is being prepared when a barrier begins waits, and is prepared again")
    func preparedAgain() async throws {
        let gated = try Gated()
        let (adapting, working, count) = (Gate(), Gate(), Shared(0))
        let session = try gated.session(
            interceptors: [
                Hook(onAdapt: { _ in
                    count.change { $0 += 1 }
                    try await adapting.wait()
                })
            ])
        async let answer = get("/1", session)
        #expect(await eventually { adapting.waiterCount == 1 })
        async let barrier: Void = gated.gate.barrier { try await working.wait() }
        #expect(await eventually { working.waiterCount == 1 })
        adapting.open()
        #expect(await eventually { gated.gate.waitingCount == 1 })
        #expect(gated.paths.isEmpty)
        working.open()
        try await barrier
        #expect(try await answer == "/1")
        #expect(count.value == 2)
        #expect(gated.paths == ["/1"])
    }

    @Test("A failed request is outgoing no longer")
    func failure() async throws {
        let gated = try Gated()
        let session = try gated.session()
        gated.world.api.value = { _ in throw TransportError(.connectionLost, "reset") }
        await #expect(throws: ApproovError(.networkingError, "")) { try await get("/1", session) }
        #expect(gated.gate.outgoingCount == 0)
        try await gated.gate.barrier {}
    }
}
