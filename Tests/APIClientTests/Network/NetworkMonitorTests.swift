import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@testable import APIClient

// Acceptance list: S2.18, S2.114
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
        let namespace = try Namespace()
        let monitor = namespace.monitor
        func expect(_ status: NetworkStatus, after commands: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await namespace.run(commands)
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
        // As VPNs make them.
        try await expect(.unreachable, after: "route del default dev a0 table 100")
        try await expect(.reachable, after: "route add 0.0.0.0/1 dev a0", "route add 128.0.0.0/1 dev a0")
        try await expect(.unreachable, after: "link set a1 down")
        try await expect(.reachable, after: "link set a1 up")
        try await expect(.unreachable, after: "link del a0")
        // More changes at once than the socket's buffer holds: the lists are read again.
        let many = (1...400).map { "route add 198.51.\($0 / 200).\($0 % 200)/32 dev lo" }
        try await namespace.run(["link set lo up"] + many + many.map { $0.replacing("add", with: "del") })
        try await expect(
            .reachable, after: "link add a0 type veth peer name a1", "link set a1 up", "link set a0 up", "route add default dev a0")
    }
}

/// A network namespace, which lasts as long as its descriptor, and a monitor of it.
private struct Namespace {
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

    let monitor: NetworkMonitor
    private let descriptor: FileHandle

    /// Makes a namespace, opens the monitor's socket in it, and leaves it again.
    ///
    /// A new thread begins in the namespace of the thread that starts it, and would later serve the work of other tests, whose connections
    /// then fail. So nothing happens in the new namespace that may start one, such as work for a queue or a child process.
    init() throws {
        let outside = try Self.ownNamespace()
        guard Self.call("unshare", 0x4000_0000) == 0 else { throw CocoaError(.executableNotLoadable) }  // CLONE_NEWNET
        let (inside, socket) = (Result(catching: Self.ownNamespace), NetlinkSource.openSocket())
        precondition(Self.call("setns", outside.fileDescriptor, 0) == 0, "this thread cannot leave the namespace again")
        monitor = NetworkMonitor(descriptor: socket)
        descriptor = try inside.get()
    }

    /// Runs commands of ip(8) in the namespace.
    func run(_ commands: [String]) async throws {
        let namespace = "--net=/proc/\(getpid())/fd/\(descriptor.fileDescriptor)"
        let script = "printf '%s\\n' \"$1\" | \"$0\" -batch -"
        let nsenter = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), ["nsenter", namespace, "/bin/sh", "-c", script, Self.ip, commands.joined(separator: "\n")])
        guard nsenter.exitCode == 0 else { throw CocoaError(.executableRuntimeMismatch) }
    }

    /// The namespace of this thread.
    private static func ownNamespace() throws -> FileHandle {
        try FileHandle(forReadingFrom: URL(filePath: "/proc/thread-self/ns/net"))
    }

    /// Calls unshare(2) or setns(2), which the module of glibc leaves out.
    private static func call(_ name: String, _ arguments: Int32...) -> Int32 {
        guard let symbol = dlsym(nil, name) else { return -1 }
        switch arguments.count {
        case 1: return unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)(arguments[0])
        default: return unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)(arguments[0], arguments[1])
        }
    }
}
