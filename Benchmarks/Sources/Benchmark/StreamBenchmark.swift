import Approov
import Foundation
import FoundationNetworking
import HTTPTransport
import Synchronization

/// 1 GiB down and up through ApproovSession on a protected host: how fast, and how much memory it takes meanwhile.
struct StreamBenchmark {
    static let bytes = 1 << 30
    /// The bytes up to here have filled every buffer; resident memory must not grow after that.
    static let settled = 64 << 20

    let options: Options

    func run() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        let down = try await measure("download") { meter in
            let (bytes, _) = try await app.session.bytes(for: ProtectedApp.request(backend.api + "/zeros?\(Self.bytes)"))
            var count = 0
            for try await chunk in bytes.chunks {
                count += chunk.count
                meter.moved(count)
            }
            return count
        }
        let zeros = try SparseFile(bytes: Self.bytes)
        defer { zeros.remove() }
        let file = zeros.url
        let up = try await measure("upload") { meter in
            var request = try ProtectedApp.request(backend.api + "/sink")
            request.httpMethod = "POST"
            let (data, _) = try await app.session.upload(for: request, fromFile: file) { meter.moved($0.completed) }
            return Int(String(decoding: data, as: UTF8.self)) ?? 0
        }
        return down + up
    }

    private func measure(_ name: String, _ transfer: (MemoryMeter) async throws -> Int) async throws -> [Figure] {
        let meter = MemoryMeter(settled: Self.settled)
        var count = 0
        var cost: Cost?
        let elapsed = try await seconds {
            cost = try await Cost.measure(operations: Self.bytes >> 20, options: options) { count = try await transfer(meter) }[0]
        }
        guard count == Self.bytes else { throw BenchmarkError("the \(name) moved \(count) bytes, not \(Self.bytes)") }
        let (peak, growth) = meter.result
        return [
            ("ApproovSession, speed", Double(count) / elapsed, Unit.speed, cost),
            ("peak resident memory", peak, .mebibytes, nil),
            ("growth after the first 64 MiB", growth, .mebibytes, nil),
        ].map { Figure(group: "stream", scenario: name, name: $0.0, value: $0.1 / 1_048_576, unit: $0.2, cost: $0.3) }
    }
}

/// Reads resident memory once for every MiB that has moved.
private final class MemoryMeter: Sendable {
    private struct State {
        var next = 0
        var peak = 0.0
        var peakWhenSettled: Double?
    }

    private let settled: Int
    private let state = Mutex(State())

    init(settled: Int) { self.settled = settled }

    func moved(_ bytes: Int) {
        state.withLock { state in
            guard bytes >= state.next else { return }
            state.next = bytes + 1 << 20
            let resident = (try? ResidentMemory.now()) ?? .nan
            state.peak = max(state.peak, resident)
            if bytes >= settled, state.peakWhenSettled == nil { state.peakWhenSettled = state.peak }
        }
    }

    /// The most there was, and how much of it came after the first part.
    var result: (peak: Double, growth: Double) {
        state.withLock { ($0.peak, $0.peak - ($0.peakWhenSettled ?? .nan)) }
    }
}
