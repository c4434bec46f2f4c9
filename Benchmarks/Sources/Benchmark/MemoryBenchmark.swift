import Approov
import Foundation

/// (e) Resident memory of an app with 10,000 cached tokens, each for another binding.
struct MemoryBenchmark {
    static let tokens = 10_000

    let options: Options

    func run() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
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
        return [("one token", before, nil), ("\(Self.tokens) tokens", after, cost[0])].map { name, bytes, cost in
            Figure(group: "memory", scenario: "resident", name: name, value: bytes / 1_048_576, unit: .mebibytes, cost: cost)
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
