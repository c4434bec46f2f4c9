import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(5))) struct AnswerSpinTests {
    private static let minute: UInt64 = 60_000_000_000

    @Test("A head, a failure and a cancellation end a spin", arguments: ["head", "failure", "cancellation"])
    func ends(how: String) async {
        let exchange = CurlExchange()
        // On a separate thread: a spin would block one of those that tasks share.
        async let spin: Void = withCheckedContinuation { ended in
            Thread.detachNewThread {
                AnswerSpin(limit: Self.minute).wait(for: exchange, since: CurlLoop.clock())
                ended.resume()
            }
        }
        switch how {
        case "head": exchange.deliver(CurlExchange.RawHead(), now: 7)
        case "failure": exchange.finish(.failure(TransportError(.connectionLost, "lost")), now: 7)
        default: exchange.finish(.failure(CancellationError()), now: 7)
        }
        await spin
        #expect(exchange.headArrival == 7)
    }

    @Test("A spin ends at its limit, also if nothing comes")
    func limit() {
        let start = CurlLoop.clock()
        AnswerSpin(limit: 1_000).wait(for: CurlExchange(), since: start)
        #expect(CurlLoop.clock() - start >= 1_000)
    }

    @Test("Short waits make the next spin worthwhile, and one long wait ends that")
    func worthwhile() {
        let spin = AnswerSpin(limit: 1_000)
        #expect(!spin.isWorthwhile)
        for _ in 0..<30 { spin.note(start: 5_000, head: 5_100) }
        #expect(spin.isWorthwhile)
        spin.note(start: 5_000, head: 5_000_000_000)
        #expect(!spin.isWorthwhile)
    }

    @Test("Several requests at once end it, each time, although one of them is alone for a moment")
    func rest() {
        let spin = AnswerSpin(limit: 1_000)
        for _ in 0..<2 {
            for _ in 0..<30 { spin.note(start: 5_000, head: 5_100) }
            #expect(spin.isWorthwhile)
            for _ in 0..<2 { spin.rest() }
            #expect(!spin.isWorthwhile)
        }
        for _ in 0..<5 {
            for _ in 0..<4 { spin.note(start: 5_000, head: 5_100) }
            spin.rest()
        }
        #expect(!spin.isWorthwhile)
    }
}

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct DriverSpinTests {
    /// A site whose driver waits for a minute before it sleeps, after as many requests as it takes to begin with that.
    ///
    /// Callers do not spin: the server of the test runs on the same threads.
    private func spinningSite(
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse = { _ in TestResponse(text: "hello") }
    ) async throws -> Site {
        let plain = try await Site.start(handler: handler)
        plain.transport.shutdown()
        let transport = try CurlTransport(
            configuration: .init(), library: .linked, spinLimits: SpinLimits(driver: 60_000_000_000, caller: 0))
        let site = Site(root: plain.root, leaf: plain.leaf, server: plain.server, transport: transport)
        let policy = try site.policy()
        for _ in 0..<30 { #expect(try await site.get(policy: policy).1 == "hello") }
        return site
    }

    @Test("Responses, failures and cancellations end a spin")
    func ends() async throws {
        let (never, isOver) = AsyncStream<Void>.makeStream()
        let site = try await spinningSite { request in
            if request.path == "/never" { for await _ in never {} }
            return TestResponse(text: "hello")
        }
        let policy = try site.policy()
        #expect(try await site.get(policy: policy).1 == "hello")

        let cancelled = Task { try await site.get("/never", policy: policy) }
        #expect(await eventually { site.server.counters.requests == 32 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        let failed = Task { await transportError { try await site.get("/never", policy: policy) } }
        #expect(await eventually { site.server.counters.requests == 33 })
        site.transport.shutdown()
        #expect(await failed.value?.code == .shutDown)
        isOver.finish()
        await site.stop()
    }

    @Test("A request that begins during a spin is answered, and so is the first one")
    func second() async throws {
        let (gate, isOpen) = AsyncStream<Void>.makeStream()
        let site = try await spinningSite { request in
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
            // Whatever the last request left to do is done after this second.
            try await Task.sleep(for: .seconds(1))
            let (start, before) = (ContinuousClock.now, try thread.usage())
            try await Task.sleep(for: .seconds(3))
            let after = try thread.usage()
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            #expect(Double(after.wakes - before.wakes) <= seconds + 1)
            #expect(after.nanoseconds - before.nanoseconds < 300_000_000)
        }
    }

    @Test("A process that may use one processor does not spin")
    func oneProcessor() async throws {
        await #expect(processExitsWith: .success) {
            let taskset = Process()
            taskset.executableURL = URL(filePath: "/usr/bin/taskset")
            taskset.arguments = ["--all-tasks", "--cpu-list", "--pid", "0", "\(ProcessInfo.processInfo.processIdentifier)"]
            taskset.standardOutput = FileHandle.nullDevice
            try taskset.run()
            taskset.waitUntilExit()
            try #require(taskset.terminationStatus == 0)
            #expect(SpinLimits.standard.driver == 0 && SpinLimits.standard.caller == 0)
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
