import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import Synchronization
import TestTags
import Testing

/// Thousands of calls while an operator changes the server's key five times in the right order: publish the next key's pin, change
/// the key, wait for the calls under way, publish without the old pin.
@Suite("Pins that rotate under load", .tags(.sockets))
struct RotationTests {
    /// The number of calls; `APPROOV_CALLS=100000` makes more.
    private static let requests = ProcessInfo.processInfo.environment["APPROOV_CALLS"].flatMap(Int.init) ?? 4_000
    private static let workers = 64
    private static let keyChanges = 5

    /// The state that the test shares with its workers.
    private final class Ledger: Sendable {
        struct State {
            /// The server that serves the API now.
            var current = 0
            /// The number of good calls under way to each server.
            var underWay = [Int](repeating: 0, count: keyChanges + 1)
            /// For each server, the first configuration version that no longer pins its key.
            var retiredBy = [Int64](repeating: .max, count: keyChanges + 1)
            var begun = 0
            var finished = 0
            var good = 0
            var refused = 0
            var flaws: [String] = []
        }

        private let state = Mutex(State())

        func read<Value: Sendable>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }
        func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
    }

    @Test("No call to the current server fails, and none reaches a server whose key is no longer pinned", .timeLimit(.minutes(5)))
    func manyRequests() async throws {
        try await LoopbackWorld.with(share: 6) { world in
            let ledger = Ledger()
            let keys = try (0...Self.keyChanges + 1).map { _ in try TestKey() }
            var servers: [TestHTTPServer] = []
            for index in 0...Self.keyChanges {
                servers.append(try await world.server(key: keys[index]) { _ in TestResponse(text: "\(index)") })
            }
            let ports = servers.map(\.port)
            func publish(_ pinned: some Sequence<TestKey>) async throws {
                let pins = pinned.map(\.pin.description)
                try await world.authority.store.setPins(pins, forHost: LoopbackWorld.apiHost)
            }
            try await publish(keys[0...1])
            let app = try await world.app()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.workers { group.addTask { try await Self.work(world, app, ports, ledger) } }
                for change in 1...Self.keyChanges {
                    let due = Self.requests / (Self.keyChanges + 1) * change
                    try #require(await eventually { ledger.read(\.finished) >= due })
                    // The next key has been pinned beside the old one since the last change, so the server's key can change now.
                    ledger.change { $0.current = change }
                    try #require(await eventually { ledger.read { $0.underWay[change - 1] } == 0 })
                    try await publish(keys[change...change + 1])
                    // No worker calls the old server as a good one any more; a call that starts under the new version must fail there.
                    _ = try await app.service.refreshConfiguration()
                    let version = app.service.configuration.version
                    ledger.change { $0.retiredBy[change - 1] = version }
                }
                try await group.waitForAll()
            }
            let end = ledger.read { $0 }
            #expect(end.flaws.isEmpty, "\(end.flaws.prefix(5))")
            #expect(end.finished == Self.requests && end.good + end.refused == Self.requests)
            #expect(end.refused > 100 && end.good > Self.requests * 9 / 10)
            // The servers got only the requests that were answered.
            #expect(servers.map(\.counters.requests).reduce(0, +) == end.good)
            #expect(app.service.configuration.version >= Int64(Self.keyChanges))
            for server in servers { await server.stop() }
        }
    }

    private static func work(_ world: LoopbackWorld, _ app: App, _ ports: [Int], _ ledger: Ledger) async throws {
        while true {
            let number = ledger.change { state in
                state.begun += 1
                return state.begun
            }
            guard number <= requests else { return }
            // Every twentieth call goes to a server with a retired key, to which good connections once existed.
            if number % 20 == 0, let retired = ledger.read({ state in state.retiredBy.lastIndex { $0 < .max } }) {
                try await callRetired(retired, world, app, ports, ledger)
            } else {
                try await callCurrent(world, app, ports, ledger)
            }
            ledger.change { $0.finished += 1 }
        }
    }

    private static func callCurrent(_ world: LoopbackWorld, _ app: App, _ ports: [Int], _ ledger: Ledger) async throws {
        let server = ledger.change { state in
            state.underWay[state.current] += 1
            return state.current
        }
        defer { ledger.change { $0.underWay[server] -= 1 } }
        do {
            let answer = try await app.get(world.url("/", port: ports[server]))
            ledger.change { state in
                state.good += 1
                if answer.status != 200 || answer.text != "\(server)" { state.flaws.append("answered \(answer.text), not \(server)") }
            }
        } catch {
            ledger.change { $0.flaws.append("a good request failed: \(error)") }
        }
    }

    private static func callRetired(_ server: Int, _ world: LoopbackWorld, _ app: App, _ ports: [Int], _ ledger: Ledger) async throws {
        do {
            _ = try await app.get(world.url("/", port: ports[server]))
            ledger.change { $0.flaws.append("server \(server) was reached although its key is not pinned") }
        } catch let error as ApproovError where error.refusal?.reason == .pinMismatch {
            ledger.change { $0.refused += 1 }
        } catch {
            ledger.change { $0.flaws.append("refused for another reason: \(error)") }
        }
    }
}
