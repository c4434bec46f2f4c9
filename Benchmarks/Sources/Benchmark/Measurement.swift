import AllocationCounter
import Foundation

/// What one subject did in one round.
struct Round {
    /// Requests a second, nanoseconds a call, milliseconds, allocations a call.
    let value: Double
    /// The calls that were made: processor time and allocations are divided by them.
    let operations: Int
    /// The cost of a call, when it is not what this process used during the round.
    var cost: Cost?
}

/// What one operation takes that does not depend on what else the machine does.
struct Cost: Codable {
    /// Processor time of all threads, in nanoseconds.
    let processorNanoseconds: Double
    /// Calls of malloc, calloc, realloc, posix_memalign and aligned_alloc.
    let allocations: Double?
}

/// Something that is measured.
struct Subject {
    let name: String
    /// Not this package: left out when two builds of this package are compared.
    let isPeer: Bool
    /// The process whose processor time and allocations count.
    let process: any MeasuredProcess
    let round: () async throws -> Round

    init(
        _ name: String, isPeer: Bool = false, in process: any MeasuredProcess = OwnProcess(), round: @escaping () async throws -> Round
    ) {
        self.name = name
        self.isPeer = isPeer
        self.process = process
        self.round = round
    }
}

/// The unit of a figure, and which way is better.
enum Unit: String, Codable {
    case perSecond = "1/s"
    case nanoseconds = "ns"
    case milliseconds = "ms"
    case mebibytes = "MiB"
    case speed = "MiB/s"
    case count = "count"

    var moreIsBetter: Bool { self == .perSecond || self == .speed }
}

/// One line of the table.
struct Figure: Codable {
    let group: String
    let scenario: String
    let name: String
    let value: Double
    let unit: Unit
    /// How many times better than each peer of the same run: the median over the rounds of the ratio within a round.
    let ratios: [String: Double]
    let rounds: [Double]
    /// Processor time for one operation in microseconds, of all threads of the process that is measured; a speed's operation is a MiB.
    let processorMicroseconds: Double?
    /// What an operation costs; nil for what has no operations.
    let cost: Cost?

    init(
        group: String, scenario: String, name: String, value: Double, unit: Unit, ratios: [String: Double] = [:], rounds: [Double]? = nil,
        processorMicroseconds: Double? = nil, cost: Cost? = nil
    ) {
        self.group = group
        self.scenario = scenario
        self.name = name
        self.value = value
        self.unit = unit
        self.ratios = ratios
        self.rounds = rounds ?? [value]
        self.processorMicroseconds = processorMicroseconds
        self.cost = cost
    }
}

/// Runs subjects in alternation (A B C A B C …), so that what else the machine does falls on all alike.
struct Comparison {
    let group: String
    let scenario: String
    let unit: Unit
    /// The subjects that the others are compared with.
    let peers: [String]

    func run(_ candidates: [Subject], options: Options) async throws -> [Figure] {
        let subjects = candidates.filter { options.wants($0.name, isPeer: $0.isPeer) }
        for subject in subjects { _ = try await subject.round() }  // the first connects, fills caches and is not counted
        var allocations: [Double] = []
        if unit != .count {
            for subject in subjects { allocations.append(try await allocationsPerOperation(subject)) }
        }
        var values = [[Double]](repeating: [], count: subjects.count)
        var processor = values
        for _ in 0..<options.rounds {
            for (index, subject) in subjects.enumerated() {
                let before = subject.process.processorSeconds
                let round = try await subject.round()
                let used = (subject.process.processorSeconds - before) * 1e9 / Double(round.operations)
                values[index].append(round.value)
                processor[index].append(round.cost?.processorNanoseconds ?? used)
            }
        }
        return subjects.indices.map { index in
            var ratios: [String: Double] = [:]
            for (other, subject) in subjects.enumerated() where other != index && peers.contains(subject.name) {
                ratios[subject.name] = median(
                    zip(values[index], values[other]).map { unit.moreIsBetter ? $0 / $1 : $1 / $0 })
            }
            return Figure(
                group: group, scenario: scenario, name: subjects[index].name, value: median(values[index]), unit: unit,
                ratios: ratios, rounds: values[index],
                processorMicroseconds: unit == .count ? nil : median(processor[index]) / 1_000,
                cost: allocations.isEmpty
                    ? nil : Cost(processorNanoseconds: median(processor[index]), allocations: allocations[index]))
        }
    }

    /// A round that is not timed: counting takes time too.
    private func allocationsPerOperation(_ subject: Subject) async throws -> Double {
        try subject.process.startCounting()
        let round = try await subject.round()
        let count = try subject.process.stopCounting()
        return round.cost?.allocations ?? Double(count) / Double(round.operations)
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}

/// Seconds that `work` took.
func seconds(_ work: () async throws -> Void) async rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try await work()
    return (clock.now - start) / .seconds(1)
}

/// Nanoseconds a call of `work`, from as many calls as fit into about `duration` seconds.
func nanosecondsPerCall(during duration: Double, batch: Int = 100, _ work: () async throws -> Void) async rethrows -> Round {
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + .seconds(duration)
    var calls = 0
    repeat {
        for _ in 0..<batch { try await work() }
        calls += batch
    } while clock.now < end
    return Round(value: (clock.now - start) / .nanoseconds(1) / Double(calls), operations: calls)
}

/// Allocations a call of `work`, from a thousand calls.
func allocationsPerCall(_ work: () async throws -> Void) async rethrows -> Round {
    let calls = 1_000
    allocation_counter_start()
    for _ in 0..<calls { try await work() }
    return Round(value: Double(allocation_counter_stop()) / Double(calls), operations: calls)
}

/// What a benchmark cannot go on without.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
