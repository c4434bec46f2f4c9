import CertificatePinning
import Foundation
import HTTPClient

/// Makes many handshakes, cancels some of them at random times, and checks the outcome of each.
///
/// Scripts/stress builds it with a sanitizer, starts the servers and runs it: `HandshakeStress ROOT.pem COUNT PORT…`.
@main
struct HandshakeStress {
    /// The number of concurrent requests.
    private static let concurrency = 16

    enum Outcome: Hashable {
        case answered, refused, cancelled, failed(String)
    }

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async {
        do {
            try await stress()
        } catch {
            FileHandle.standardError.write(Data("stress: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func stress() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 3, let root = arguments.first, let count = Int(arguments.dropFirst().first ?? "") else {
            throw Wrong(description: "usage: HandshakeStress ROOT.pem COUNT PORT…")
        }
        let ports = arguments.dropFirst(2).compactMap { Int($0) }
        let roots = try Certificate.all(at: root)
        let plan = try Plan(roots: roots, ports: ports)
        // The first requests open the descriptors that the process keeps, such as dispatch's timers.
        try await warmUp(plan)
        let before = descriptors()
        let started = ContinuousClock.now
        var outcomes: [Outcome: Int] = [:]
        do {
            let transport = try CurlTransport()
            outcomes = try await run(count, plan, transport)
            transport.shutdown()
        }
        // The engine's thread closes its connections when it ends.
        var after = descriptors()
        for _ in 0..<500 where after > before {
            try await Task.sleep(for: .milliseconds(10))
            after = descriptors()
        }
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        print("\(count) handshakes begun in \(Int(seconds)) s:", outcomes.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", "))
        print("evaluated: \(plan.evaluated.value); open descriptors before and after: \(before) and \(after)")
        guard after <= before else { throw Wrong(description: "\(after - before) descriptors leaked, of: \(descriptorNames())") }
        let failed = outcomes.filter { if case .failed = $0.key { true } else { false } }
        guard failed.isEmpty else { throw Wrong(description: "requests failed that should not have") }
        guard outcomes[.answered, default: 0] > count / 10, outcomes[.refused, default: 0] > count / 10,
            outcomes[.cancelled, default: 0] > count / 10
        else { throw Wrong(description: "the load is not mixed: it proves less than it should") }
    }

    private static func warmUp(_ plan: Plan) async throws {
        let transport = try CurlTransport()
        _ = try await run(60, plan, transport)
        transport.shutdown()
        try await Task.sleep(for: .seconds(1))
    }

    private static func run(_ count: Int, _ plan: Plan, _ transport: CurlTransport) async throws -> [Outcome: Int] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome: Int] = [:]
            for number in 0..<count {
                if number >= concurrency, let outcome = try await group.next() { outcomes[outcome, default: 0] += 1 }
                group.addTask { try await one(number, plan, transport) }
            }
            for try await outcome in group { outcomes[outcome, default: 0] += 1 }
            return outcomes
        }
    }

    /// Makes one request over its own connection; a third are cancelled under way, a third have pins that refuse the server.
    private static func one(_ number: Int, _ plan: Plan, _ transport: CurlTransport) async throws -> Outcome {
        let isGood = !number.isMultiple(of: 3)
        let request = try plan.request(number, isGood: isGood)
        let task = Task { try await transport.send(request).body.collect(upTo: 1 << 20).count }
        if number % 3 == 1 {
            try await Task.sleep(for: .microseconds(Int.random(in: 0...6_000)))
            task.cancel()
        }
        do {
            guard try await task.value > 0 else { return .failed("an empty answer") }
            guard isGood else { throw Wrong(description: "a server was answered for whose pins no key fits") }
            return .answered
        } catch is CancellationError {
            return .cancelled
        } catch let error as TransportError {
            if let refusal = error.refusal, refusal.reason == .pinMismatch, !isGood { return .refused }
            return .failed("\(error)")
        }
    }

    private static func descriptorNames() -> [String] {
        let folder = "/proc/self/fd"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
    }

    /// The number of open descriptors, without dispatch's timers, which it opens at first use, and without the pipes to the sanitizer's
    /// symbolizer; the engine uses neither.
    private static func descriptors() -> Int {
        descriptorNames().count { !$0.contains("timerfd") && !$0.contains("pipe:") }
    }
}
