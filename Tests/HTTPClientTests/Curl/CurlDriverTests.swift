import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import TestTags
import Testing

@testable import HTTPClient

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct CurlDriverTests {
    /// A site after thirty requests, so that callers run the loop.
    private func quickSite(
        longestTurn: UInt64 = CurlDriver.standardTurn,
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse = { _ in TestResponse(text: "hello") }
    ) async throws -> Site {
        let plain = try await Site.start(handler: handler)
        plain.transport.shutdown()
        let transport = try CurlTransport(
            configuration: .init(), library: .linked, answerLimit: 60_000_000_000, longestTurn: longestTurn)
        let site = Site(root: plain.root, leaf: plain.leaf, server: plain.server, transport: transport)
        let policy = try site.policy()
        for _ in 0..<30 { #expect(try await site.get(policy: policy).1 == "hello") }
        return site
    }

    @Test(
        "What comes after a caller's turn, or in it, is handled: a slow answer, a cancellation, the end of the transport",
        arguments: [CurlDriver.standardTurn, 2_000_000_000])
    func ends(longestTurn: UInt64) async throws {
        let (never, isOver) = AsyncStream<Void>.makeStream()
        let site = try await quickSite(longestTurn: longestTurn) { request in
            if request.path == "/never" { for await _ in never {} }
            if request.path == "/late" { try await Task.sleep(for: .milliseconds(20)) }
            return TestResponse(text: "hello")
        }
        let policy = try site.policy()
        #expect(try await site.get("/late", policy: policy).1 == "hello")
        for _ in 0..<30 { #expect(try await site.get(policy: policy).1 == "hello") }

        let cancelled = Task { try await site.get("/never", policy: policy) }
        #expect(await eventually { site.server.counters.requests == 62 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        for _ in 0..<30 { #expect(try await site.get(policy: policy).1 == "hello") }
        let failed = Task { await transportError { try await site.get("/never", policy: policy) } }
        #expect(await eventually { site.server.counters.requests == 93 })
        site.transport.shutdown()
        #expect(await failed.value?.code == .shutDown)
        isOver.finish()
        await site.stop()
    }

    @Test(
        "A request that begins during a caller's turn is answered, and so is the first one",
        arguments: [CurlDriver.standardTurn, 2_000_000_000])
    func second(longestTurn: UInt64) async throws {
        let (gate, isOpen) = AsyncStream<Void>.makeStream()
        let site = try await quickSite(longestTurn: longestTurn) { request in
            if request.path == "/first" { for await _ in gate {} }
            return TestResponse(text: "hello")
        }
        let policy = try site.policy()
        async let first = site.get("/first", policy: policy).1
        #expect(await eventually { site.server.counters.requests == 31 })
        #expect(try await site.get(policy: policy).1 == "hello")
        isOpen.finish()
        #expect(try await first == "hello")
        await site.stop()
    }

    @Test("A turn in which no answer came is the last one for a while")
    func slow() throws {
        let forecast = AnswerForecast(limit: 60_000_000_000)
        let driver = try CurlDriver(configuration: .init(), forecast: forecast, longestTurn: 0)
        for _ in 0..<30 { forecast.note(start: 1, head: 2) }
        #expect(driver.mayTakeTurn == ProcessorShare.allowsTwoThreads())
        _ = driver.run(for: CurlExchange())
        #expect(!driver.mayTakeTurn)
    }

    @Test("Every sixteenth turn asks the task to yield its thread")
    func yields() throws {
        let driver = try CurlDriver(configuration: .init(), forecast: AnswerForecast(limit: 1_000), longestTurn: 0)
        let yields = (0..<64).filter { _ in driver.run(for: CurlExchange()) }
        #expect(yields == [15, 31, 47, 63])
    }

    @Test("A task that prefers its own executor takes no turn")
    func executor() async throws {
        final class OwnExecutor: TaskExecutor {
            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            }
        }
        let forecast = AnswerForecast(limit: 1_000)
        for _ in 0..<30 { forecast.note(start: 1, head: 2) }
        let driver = try CurlDriver(configuration: .init(), forecast: forecast)
        #expect(driver.mayTakeTurn == ProcessorShare.allowsTwoThreads())
        await withTaskExecutorPreference(OwnExecutor()) { #expect(!driver.mayTakeTurn) }
    }

    @Test("Bodies of any size, and requests that come alone and in crowds in turn, are all answered")
    func mixed() async throws {
        let site = try await quickSite { request in
            TestResponse(text: Int(request.path.dropFirst()).map { String(repeating: "x", count: $0) } ?? "hello")
        }
        let policy = try site.policy()
        for round in 0..<60 {
            let size = [0, 5, 1_000, 20_000, 400_000, 1_000_000][round % 6]
            #expect(try await site.get("/\(size)", policy: policy).1.utf8.count == size)
            guard round.isMultiple(of: 7) else { continue }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<round { group.addTask { try await site.get("/100", policy: policy).1.utf8.count } }
                for try await count in group { #expect(count == 100) }
            }
        }
        await site.stop()
    }
}

@Suite(.tags(.sockets, .processes), .timeLimit(.minutes(5))) struct IdleDriverTests {
    // In its own process, where there is one such thread.
    @Test("An idle driver neither spins nor wakes more than once a second")
    func idle() async throws {
        await #expect(processExitsWith: .success) {
            let site = try await Site.start()
            let policy = try site.policy()
            for _ in 0..<200 { _ = try await site.get(policy: policy) }
            let thread = try #require(try DriverThread.ofThisProcess())
            // Whatever the last request left to do is done once the thread has slept for half a second.
            let isIdle = try await eventually {
                let before = try thread.usage().wakes
                try await Task.sleep(for: .milliseconds(500))
                return try thread.usage().wakes == before
            }
            try #require(isIdle)
            // The time is real, because it is the kernel that wakes the thread. A busy machine gives the thread less processor time and
            // fewer occasions to wake, never more.
            let (start, before) = (ContinuousClock.now, try thread.usage())
            try await Task.sleep(for: .seconds(3))
            let after = try thread.usage()
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            #expect(Double(after.wakes - before.wakes) <= seconds + 1)
            #expect(after.nanoseconds - before.nanoseconds < 300_000_000)
        }
    }

    @Test("A caller in a process that may use one processor does not spin")
    func oneProcessor() async throws {
        let forecast = AnswerForecast(limit: 1_000)
        #expect(try !ProcessorShare.allowsTwoThreads() || CurlDriver(configuration: .init(), forecast: forecast).longestSpin > 0)
        await #expect(processExitsWith: .success) {
            let taskset = Process()
            taskset.executableURL = URL(filePath: "/usr/bin/taskset")
            taskset.arguments = ["--all-tasks", "--cpu-list", "--pid", "0", "\(ProcessInfo.processInfo.processIdentifier)"]
            taskset.standardOutput = FileHandle.nullDevice
            try taskset.run()
            taskset.waitUntilExit()
            try #require(taskset.terminationStatus == 0)
            #expect(try CurlDriver(configuration: .init(), forecast: AnswerForecast(limit: 1_000)).longestSpin == 0)
        }
    }

    @Test("While answers come soon, the transport's thread sleeps, and the callers run the loop")
    func sleeps() async throws {
        await #expect(processExitsWith: .success) {
            let plain = try await Site.start()
            plain.transport.shutdown()
            // A turn of a second, because a busy machine may be slow to answer.
            let transport = try CurlTransport(
                configuration: .init(), library: .linked, answerLimit: 60_000_000_000, longestTurn: 1_000_000_000)
            let site = Site(root: plain.root, leaf: plain.leaf, server: plain.server, transport: transport)
            let policy = try site.policy()
            #expect(try await eventually { try DriverThread.ofThisProcess() != nil })
            for _ in 0..<30 { _ = try await site.get(policy: policy) }
            let thread = try #require(try DriverThread.ofThisProcess())
            let before = try thread.usage()
            for _ in 0..<500 { _ = try await site.get(policy: policy) }
            // Without the callers' turns, it would wake for each request and for each response.
            #expect(try thread.usage().wakes - before.wakes < 100)
        }
    }
}

/// The thread of the only transport in this process.
private struct DriverThread {
    let folder: String

    static func ofThisProcess() throws -> DriverThread? {
        let tasks = "/proc/self/task"
        let threads = try FileManager.default.contentsOfDirectory(atPath: tasks).filter {
            (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)) == "approov-curl\n"
        }
        return threads.count == 1 ? DriverThread(folder: "\(tasks)/\(threads[0])") : nil
    }

    /// How often it went to sleep so far, and how long it ran.
    func usage() throws -> (wakes: Int, nanoseconds: Int) {
        let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") })
        let times = try String(contentsOfFile: folder + "/schedstat", encoding: .utf8).split(separator: " ")
        return (try #require(Int(line.split(separator: "\t")[1])), try #require(Int(times[0])))
    }
}
