import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@testable import APIClient

@Suite(.tags(.sockets, .processes), .timeLimit(.minutes(2))) struct NetworkMonitorTests {
    @Test("A stream has the present status first, then the newest, and ends with its monitor")
    func stream() async {
        var monitor: NetworkMonitor? = NetworkMonitor(testing: .unreachable)
        let (slow, other) = (monitor?.changes, monitor?.changes)
        #expect(monitor?.listenerCount == 2)
        for status in [NetworkStatus.reachable, .unreachable, .reachable, .reachable] { monitor?.publish(status) }
        monitor = nil
        var seen: [NetworkStatus] = []
        for await status in slow ?? AsyncStream(unfolding: { nil }) { seen.append(status) }
        #expect(seen == [.reachable])
        _ = other
    }

    @Test("A stream that is dropped leaves nothing behind")
    func droppedStream() async {
        let monitor = NetworkMonitor(testing: .reachable)
        for _ in 0..<100 {
            for await _ in monitor.changes { break }
        }
        #expect(await eventually { monitor.listenerCount == 0 })
    }

    @Test("This machine and addresses with a route need no default route")
    func routes() throws {
        let monitor = NetworkMonitor()
        for host in ["127.0.0.1", "127.8.9.10", "localhost", "api.localhost", "::1"] {
            #expect(try monitor.needsNoDefaultRoute(CanonicalHost(host)))
        }
        // A name is not looked up.
        #expect(try !monitor.needsNoDefaultRoute(CanonicalHost("api.example.com")))
    }

    @Test("A monitor holds a descriptor, and closes it when it is deallocated")
    func descriptor() async throws {
        /// The sockets of this process, by their inodes: a number of a descriptor is soon used again.
        func sockets() throws -> Set<String> {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return Set(names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") })
        }
        var monitors: [NetworkMonitor] = (0..<10).map { _ in NetworkMonitor() }
        let own = Set(
            try monitors.compactMap(\.descriptor).map { try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") })
        #expect(try own.count == 10 && sockets().isSuperset(of: own))
        monitors = []
        #expect(try await eventually { try monitors.isEmpty && sockets().isDisjoint(with: own) })
    }

    @Test("The status follows the links and routes of a network namespace", .enabled(if: Namespace.isPossible, Namespace.advice))
    func namespace() async throws {
        let namespace = try await Namespace.make()
        let monitor = namespace.monitor
        func expect(_ status: NetworkStatus, after commands: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
            for command in commands { try await namespace.run(command) }
            #expect(await eventually { monitor.status == status }, sourceLocation: sourceLocation)
        }
        try await expect(.unreachable)
        try await expect(
            .reachable, after: "link add a0 type veth peer name a1", "link set a1 up", "link set a0 up", "addr add 192.0.2.1/24 dev a0",
            "route add default via 192.0.2.2")
        // The other end of the cable is down.
        try await expect(.unreachable, after: "link set a1 down")
        try await expect(.reachable, after: "link set a1 up")
        try await expect(.unreachable, after: "route del default")
        try await expect(.reachable, after: "route add default dev a0 table 100")
        try await expect(.unreachable, after: "link del a0")
        // More changes at once than the socket's buffer holds: the lists are read again.
        let many = (1...400).map { "route add 198.51.\($0 / 200).\($0 % 200)/32 dev lo" }
        try await namespace.run("link set lo up")
        try await namespace.batch(many + many.map { $0.replacing("add", with: "del") })
        try await expect(
            .reachable, after: "link add a0 type veth peer name a1", "link set a1 up", "link set a0 up", "route add default dev a0")
        await namespace.end()
    }
}

/// A thread in its own network namespace, with a monitor that was made there.
private final class Namespace: Sendable {
    static let advice: Comment = "Only root can make a network namespace: run the tests as root, with iproute2 and veth"
    static let isPossible: Bool = {
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: ip) else { return false }
        let trial = Process()
        trial.executableURL = URL(filePath: "/usr/bin/env")
        trial.arguments = ["unshare", "-n", ip, "link", "add", "a0", "type", "veth"]
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationStatus == 0
    }()
    private static let ip =
        ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first { FileManager.default.isExecutableFile(atPath: $0) } ?? "/sbin/ip"

    private enum Job: Sendable {
        case run([String], input: String?, CheckedContinuation<Void, any Error>)
        case end
    }

    let monitor: NetworkMonitor
    private let jobs: AsyncStream<Job>.Continuation

    private init(_ monitor: NetworkMonitor, _ jobs: AsyncStream<Job>.Continuation) {
        self.monitor = monitor
        self.jobs = jobs
    }

    static func make() async throws -> Namespace {
        let queue = Shared<[Job]>([])
        let signal = DispatchSemaphore(value: 0)
        let (stream, jobs) = AsyncStream.makeStream(of: Job.self)
        Task {
            for await job in stream {
                queue.change { $0.append(job) }
                signal.signal()
            }
        }
        let monitor = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<NetworkMonitor, any Error>) in
            // A namespace belongs to a thread, and to the sockets and processes that the thread makes.
            let thread = Thread {
                guard Self.unshareNetwork() == 0 else {
                    return continuation.resume(throwing: CocoaError(.executableNotLoadable))
                }
                continuation.resume(returning: NetworkMonitor())
                while true {
                    signal.wait()
                    guard case .run(let arguments, let input, let done) = queue.change({ $0.removeFirst() }) else { return }
                    done.resume(with: Result { try Self.run(arguments, input) })
                }
            }
            thread.start()
        }
        return Namespace(monitor, jobs)
    }

    /// Moves this thread into a new network namespace.
    ///
    /// Glibc's module leaves unshare(2) out.
    private static func unshareNetwork() -> Int32 {
        guard let symbol = dlsym(nil, "unshare") else { return -1 }
        let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
        return unshare(0x4000_0000)  // CLONE_NEWNET
    }

    private static func run(_ arguments: [String], _ input: String?) throws {
        let process = Process()
        process.executableURL = URL(filePath: ip)
        process.arguments = arguments
        let pipe = Pipe()
        if input != nil { process.standardInput = pipe }
        try process.run()
        if let input {
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableRuntimeMismatch) }
    }

    func run(_ command: String) async throws {
        try await withCheckedThrowingContinuation { jobs.yield(.run(command.split(separator: " ").map(String.init), input: nil, $0)) }
    }

    func batch(_ commands: [String]) async throws {
        try await withCheckedThrowingContinuation {
            jobs.yield(.run(["-batch", "-"], input: commands.joined(separator: "\n") + "\n", $0))
        }
    }

    func end() async { jobs.yield(.end) }
}
