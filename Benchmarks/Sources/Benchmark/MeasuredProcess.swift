import AllocationCounter
import Foundation

/// A process whose processor time and allocations are measured.
protocol MeasuredProcess {
    /// Seconds of processor time that all its threads have used, in user mode and in the kernel.
    var processorSeconds: Double { get }

    /// Starts to count its allocations from zero.
    func startCounting() throws

    /// Ends the count.
    /// - Returns: The allocations since its start.
    func stopCounting() throws -> Int
}

/// The process that runs the benchmark.
struct OwnProcess: MeasuredProcess {
    var processorSeconds: Double { clock_seconds(CLOCK_PROCESS_CPUTIME_ID) }

    func startCounting() { allocation_counter_start() }

    func stopCounting() -> Int { allocation_counter_stop() }
}

extension Cost {
    /// What one run of `work` costs.
    /// - Parameters:
    ///   - processes: The processes that do the work.
    ///   - operations: What the cost is divided by.
    ///   - options: Nothing is measured unless they ask for costs.
    ///   - work: The work.
    /// - Returns: A cost for each process; nil for each when nothing is measured.
    /// - Throws: What the work throws; ``BenchmarkError`` when a process has ended.
    static func measure(
        _ processes: [any MeasuredProcess] = [OwnProcess()], operations: Int, options: Options, _ work: () async throws -> Void
    ) async throws -> [Cost?] {
        guard options.costs else {
            try await work()
            return processes.map { _ in nil }
        }
        for process in processes { try process.startCounting() }
        let before = processes.map(\.processorSeconds)
        try await work()
        return try zip(processes, before).map { process, before in
            Cost(
                processorNanoseconds: (process.processorSeconds - before) * 1e9 / Double(operations),
                allocations: Double(try process.stopCounting()) / Double(operations))
        }
    }
}
