import Approov
import ApproovTesting
import Crypto
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.15, S2.33
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ApproovTaskTests {
    private static let size = 200 * 65_536

    /// A part of an upload, which no other part equals.
    private static func part(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 65_536) }

    /// Answers /big with many pieces, and others with the hash of the request's body.
    private static func site() async throws -> Site {
        try await Site.start { request in
            if request.path == "/big" {
                return TestResponse(length: size) { index in index < 200 ? [UInt8](repeating: 1, count: 65_536) : nil }
            }
            var hash = SHA256()
            for try await part in request.body { hash.update(data: part) }
            return TestResponse(text: "\(hash.finalize())")
        }
    }

    /// Checks that a value stays the same while other requests are answered; the first one's answer says that the task is suspended.
    private func expectRest(_ session: ApproovSession, _ site: Site, _ value: () -> Int) async throws {
        _ = try await session.data(from: site.url("/small"))
        let stopped = value()
        for _ in 0..<10 { _ = try await session.data(from: site.url("/small")) }
        #expect(value() == stopped)
    }

    @Test("A task is suspended until it is resumed, stops when it is suspended again, and completes with all of the response")
    func download() async throws {
        let site = try await Self.site()
        let session = try site.session()
        let result = Shared<Data?>(nil)
        let task = session.dataTask(with: site.url("/big")) { data, _, _ in result.value = data }
        #expect(task.state == .suspended)
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .running)
        try #require(await eventually { task.downloadProgress.completed >= 1_000_000 })
        task.suspend()
        #expect(task.state == .suspended)
        try await expectRest(session, site) { task.downloadProgress.completed }
        #expect(result.value == nil)
        task.resume()
        #expect(task.state == .running)
        #expect(await eventually { task.state == .completed })
        #expect(result.value == Data(repeating: 1, count: Self.size))
        #expect(task.downloadProgress == TransferProgress(completed: Self.size, total: Self.size))
        task.suspend()
        task.resume()
        task.cancel()
        #expect(task.state == .completed)
        await site.stop()
    }

    @Test("An upload of a stream stops while its task is suspended, and the server gets all of it, each part once and in order")
    func upload() async throws {
        let site = try await Self.site()
        let session = try site.session()
        let made = Shared(0)
        let parts = AsyncStream<[UInt8]>(unfolding: {
            made.change { made in
                defer { made += 1 }
                return made < 200 ? Self.part(made) : nil
            }
        })
        let result = Shared<Data?>(nil)
        let task = session.uploadTask(
            with: URLRequest(site.url("/in").absoluteString, method: "PUT"), body: .stream(length: Self.size, RequestBodyStream(parts))
        ) { data, _, _ in result.value = data }
        task.resume()
        try #require(await eventually { task.uploadProgress.completed >= 1_000_000 })
        task.suspend()
        try await expectRest(session, site) { task.uploadProgress.completed }
        #expect(task.uploadProgress.completed < Self.size)
        task.resume()
        #expect(await eventually { task.state == .completed })
        var hash = SHA256()
        for number in 0..<200 { hash.update(data: Self.part(number)) }
        #expect(result.value == Data("\(hash.finalize())".utf8))
        await site.stop()
    }

    @Test("A suspended task sends nothing more after a redirect, and can be cancelled")
    func redirect() async throws {
        let world = try World()
        let redirecting = Gate()
        world.api.value = { request in
            guard request.url.target == "/from" else { return TransportResponse(status: 200, url: request.url) }
            try await redirecting.wait()
            return TransportResponse(status: 302, headerFields: [.location: "/to"], url: request.url)
        }
        let session = try world.session()
        let ended = Shared<[(any Error)?]>([])
        let task = session.dataTask(with: URLRequest("https://api.test/from")) { _, _, error in ended.change { $0.append(error) } }
        task.resume()
        #expect(await eventually { redirecting.waiterCount == 1 })
        task.suspend()
        redirecting.open()
        // The wait until the task is resumed has a deadline.
        #expect(await eventually { world.clock.sleeperCount >= 1 })
        #expect(world.apiRequests.map(\.url.target) == ["/from"])
        task.cancel()
        #expect(await eventually { task.state == .completed })
        #expect(ended.value.count == 1 && ended.value[0] is CancellationError)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A task that is cancelled before it starts calls its handler on no stack of the caller, who may hold a lock")
    func cancelUnstarted() async throws {
        let session = try World().session()
        let ended = Shared<[(any Error)?]>([])
        let tasks = [
            session.dataTask(with: URLRequest("https://api.test/")) { _, _, error in
                ended.change { $0.append(error) }
            },
            session.downloadTask(with: URLRequest("https://api.test/")) { _, _, error in
                ended.change { $0.append(error) }
            },
        ]
        for task in tasks {
            ended.change { errors in
                errors = []
                // The handler waits for the lock that this closure holds.
                task.cancel()
                task.cancel()
                #expect(task.state == .canceling)
            }
            #expect(await eventually { task.state == .completed })
            #expect(ended.value.count == 1 && ended.value[0] is CancellationError)
        }
    }

    /// A task that was suspended while it waited for its token, which it then got, and where its status comes.
    private func suspendedTask(of session: ApproovSession, in world: World) async throws -> (ApproovTask, Shared<Int?>) {
        let attesting = Gate()
        world.authority.script.value.fault = { request in
            if request.url.target == "/v1/attestations" { try await attesting.wait() }
            return nil
        }
        let status = Shared<Int?>(nil)
        let task = session.dataTask(with: URLRequest("https://api.test/suspended")) { _, response, _ in
            status.value = (response as? HTTPURLResponse)?.statusCode
        }
        task.resume()
        #expect(await eventually { attesting.waiterCount == 1 })
        task.suspend()
        attesting.open()
        return (task, status)
    }

    @Test("A task that is suspended while it waits for its token sends nothing until it is resumed")
    func token() async throws {
        let world = try World()
        let session = try world.session()
        let (task, status) = try await suspendedTask(of: session, in: world)
        // These use the same token, so the suspended task has it, too.
        for _ in 0..<10 { _ = try await session.data(for: URLRequest("https://api.test/other")) }
        #expect(world.apiRequests.map(\.url.target) == Array(repeating: "/other", count: 10))
        task.resume()
        #expect(await eventually { task.state == .completed })
        #expect(status.value == 200)
        #expect(world.apiRequests.last?.url.target == "/suspended")
    }

    @Test("A barrier does not wait for a suspended task that has sent nothing, and the task waits for the gate when it is resumed")
    func suspendedAtBarrier() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let (task, status) = try await suspendedTask(of: world.configured { $0.gate = gate }, in: world)
        // The clock stands still: a barrier that waited for the task would never begin.
        #expect(try await gate.barrier { world.apiRequests.count } == 0)
        gate.pause()
        task.resume()
        #expect(await eventually { gate.waitingCount == 1 })
        #expect(world.apiRequests.isEmpty)
        gate.resume()
        #expect(await eventually { task.state == .completed })
        #expect(status.value == 200)
    }

    private static func session(handlersOn queue: OperationQueue) throws -> ApproovSession {
        let transport = InProcessTransport { TransportResponse(status: $0.url.target == "/refused" ? 500 : 200, url: $0.url) }
        var settings = ApproovSessionConfiguration.over(transport)
        settings.tracksRequests = true
        settings.validators = [StatusValidator()]
        let wrapped = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        return try ApproovSession(wrapping: wrapped, service: nil, configuration: settings)
    }

    @Test("Completion handlers run on the wrapped session's delegate queue, one after another if it runs one at a time")
    func delegateQueue() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = try Self.session(handlersOn: queue)
        let (running, called) = (Shared(0), Shared<[String]>([]))
        @Sendable func call(_ name: String, _ error: (any Error)?) {
            running.change { $0 += 1 }
            #expect(OperationQueue.current === queue)
            #expect(running.value == 1)
            called.change { $0.append(error == nil ? name : "no \(name)") }
            running.change { $0 -= 1 }
        }
        let request = URLRequest("https://api.test/")
        let downloaded = Shared<String?>(nil)
        queue.isSuspended = true
        let tasks =
            (0..<10).map { _ in session.dataTask(with: request) { _, _, error in call("data", error) } }
            + [
                session.downloadTask(with: request) { file, _, error in
                    #expect(file.map { FileManager.default.fileExists(atPath: $0.path) } == true)
                    downloaded.value = file?.path
                    call("file", error)
                },
                session.dataTask(with: URLRequest("wrong://api.test/")) { _, _, error in call("data", error) },
            ]
        let unstarted = [
            session.dataTask(with: request) { _, _, error in call("data", error) },
            session.downloadTask(with: request) { _, _, error in call("file", error) },
        ]
        tasks.forEach { $0.resume() }
        unstarted.forEach { $0.cancel() }
        #expect(await eventually { queue.operationCount == 14 })
        #expect(called.value.isEmpty && (tasks + unstarted).allSatisfy { $0.state != .completed })
        // Comes after all handlers, so the file of the download is gone.
        queue.addOperation { #expect(downloaded.value.map { FileManager.default.fileExists(atPath: $0) } == false) }
        queue.isSuspended = false
        #expect(await eventually { (tasks + unstarted).allSatisfy { $0.state == .completed } })
        #expect(called.value.sorted() == Array(repeating: "data", count: 10) + ["file", "no data", "no data", "no file"])
    }

    @Test("After a wipe, a completion handler that waits for its queue gets no response, and no refused one")
    func wipedInQueue() async throws {
        let queue = OperationQueue()
        let session = try Self.session(handlersOn: queue)
        let ends = Shared<[Bool]>([])
        queue.isSuspended = true
        for path in ["", "refused"] {
            session.dataTask(with: URLRequest("https://api.test/\(path)")) { data, _, error in
                ends.change { $0.append(data == nil && error is CancellationError) }
            }.resume()
        }
        session.downloadTask(with: URLRequest("https://api.test/")) { file, _, error in
            ends.change { $0.append(file == nil && error is CancellationError) }
        }.resume()
        #expect(await eventually { queue.operationCount == 3 })
        await session.wipe(.all)
        queue.isSuspended = false
        #expect(await eventually { ends.value.count == 3 })
        #expect(ends.value == [true, true, true])
    }

    @Test("If the operations of its queue are cancelled, a task completes without its handler")
    func cancelledOperations() async throws {
        let queue = OperationQueue()
        let session = try Self.session(handlersOn: queue)
        queue.isSuspended = true
        let tasks = [
            session.dataTask(with: URLRequest("https://api.test/")) { _, _, _ in Issue.record("the handler was called") },
            session.downloadTask(with: URLRequest("https://api.test/")) { _, _, _ in Issue.record("the handler was called") },
        ]
        tasks.forEach { $0.resume() }
        #expect(await eventually { queue.operationCount == 2 })
        queue.cancelAllOperations()
        queue.isSuspended = false
        #expect(await eventually { tasks.allSatisfy { $0.state == .completed } })
    }

    @Test("Tasks of a session have different numbers")
    func identifiers() throws {
        let session = try World().session()
        let tasks = (0..<100).map { _ in session.dataTask(with: URLRequest("https://api.test/")) { _, _, _ in } }
        #expect(Set(tasks.map(\.taskIdentifier)).count == 100)
    }

    @Test("The progress of a task can be read as a sequence, which ends with the task")
    func progress() async throws {
        let site = try await Self.site()
        let session = try site.session()
        let task = session.dataTask(with: site.url("/big")) { _, _, _ in }
        let stream = task.progress
        task.resume()
        var last = -1
        for await progress in stream {
            #expect(progress.download.completed >= last)
            last = progress.download.completed
        }
        #expect(last == Self.size)
        #expect(task.state == .completed)
        var late: [TaskProgress] = []
        for await progress in task.progress { late.append(progress) }
        #expect(late.map(\.download.completed) == [Self.size])
        await site.stop()
    }

    @Test("A request for data reports the progress of its download")
    func dataProgress() async throws {
        let site = try await Self.site()
        let told = Shared<[TransferProgress]>([])
        let (data, _) = try await site.session().data(from: site.url("/big")) { progress in told.change { $0.append(progress) } }
        #expect(data.count == Self.size)
        #expect(told.value.last == TransferProgress(completed: Self.size, total: Self.size))
        await site.stop()
    }
}
