import Approov
import Foundation

/// (e) Resident memory: of an app with 10,000 cached tokens, each for another binding, and what one attested call takes.
struct MemoryBenchmark {
    static let tokens = 10_000
    static let oneCall = "one call"
    static let addition = "ApproovSession, above the C loop"

    let options: Options

    func run() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let calls = try await oneCall(backend)
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        guard let url = URL(string: backend.api + "/five") else { throw BenchmarkError("no URL") }
        // The first attestation brings in what is there once, and is not a token's price.
        _ = await app.service.fetchToken(for: url, binding: "first")
        let before = try ResidentMemory.now()
        let cost = try await Cost.measure(operations: Self.tokens, options: options) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let workers = 32
                for worker in 0..<workers {
                    group.addTask {
                        for index in stride(from: worker, to: Self.tokens, by: workers) {
                            let result = await app.service.fetchToken(for: url, binding: "Bearer \(index)")
                            guard result.status == .success else { throw BenchmarkError("token \(index) was not had: \(result.status)") }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        guard app.service.cachedTokenCount == Self.tokens else {
            throw BenchmarkError("\(app.service.cachedTokenCount) tokens are cached, not \(Self.tokens)")
        }
        let after = try ResidentMemory.now()
        return calls
            + [("one token", before, nil), ("\(Self.tokens) tokens", after, cost[0])].map { name, bytes, cost in
                Figure(group: "memory", scenario: "resident", name: name, value: bytes / 1_048_576, unit: .mebibytes, cost: cost)
            }
    }
}

extension MemoryBenchmark {
    /// What a process has after one request with the C loop, and after one with a session that attested for it.
    private func oneCall(_ backend: BackendProcess) async throws -> [Figure] {
        let files = (0..<2).map { _ in FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)") }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        try backend.roots.write(to: files[0], atomically: true, encoding: .utf8)
        try backend.configuration.write(to: files[1], atomically: true, encoding: .utf8)
        func mebibytes(_ client: OneCall.Client) throws -> Double {
            let arguments = ["one-call", client.rawValue, backend.api + "/five"] + files.map { $0.path(percentEncoded: false) }
            let child = try ChildProcess(arguments)
            defer { child.stop() }
            guard let bytes = Double(String(decoding: child.ready, as: UTF8.self)) else { throw BenchmarkError("no number of bytes") }
            return bytes / 1_048_576
        }
        var (loop, session): ([Double], [Double]) = ([], [])
        for _ in 0..<options.rounds {
            loop.append(try mebibytes(.loop))
            session.append(try mebibytes(.session))
        }
        let additions = zip(loop, session).map { $1 - $0 }
        return [("C loop", loop), ("ApproovSession", session), (Self.addition, additions)].map { name, values in
            Figure(group: "memory", scenario: Self.oneCall, name: name, value: median(values), unit: .mebibytes, rounds: values)
        }
    }
}

/// Resident memory of this process.
enum ResidentMemory {
    static func now() throws -> Double {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { throw BenchmarkError("/proc/self/statm cannot be read") }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
}
