import Foundation

/// What one subject did in one round: requests a second, nanoseconds a call, bytes.
struct Subject {
    let name: String
    let round: () async throws -> Double

    init(_ name: String, round: @escaping () async throws -> Double) {
        self.name = name
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
    /// Processor time of this process, all threads, for one operation in microseconds; only for rates.
    let processorMicroseconds: Double?

    init(
        group: String, scenario: String, name: String, value: Double, unit: Unit, ratios: [String: Double] = [:], rounds: [Double]? = nil,
        processorMicroseconds: Double? = nil
    ) {
        self.group = group
        self.scenario = scenario
        self.name = name
        self.value = value
        self.unit = unit
        self.ratios = ratios
        self.rounds = rounds ?? [value]
        self.processorMicroseconds = processorMicroseconds
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
        let subjects = candidates.filter { options.only.isEmpty || options.only.contains($0.name) }
        for subject in subjects { _ = try await subject.round() }  // the first connects, fills caches and is not counted
        var values = [[Double]](repeating: [], count: subjects.count)
        var processor = values
        for _ in 0..<options.rounds {
            for (index, subject) in subjects.enumerated() {
                let before = processorSeconds()
                var value = 0.0
                let elapsed = try await seconds { value = try await subject.round() }
                values[index].append(value)
                processor[index].append((processorSeconds() - before) * 1e6 / (value * elapsed))
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
                ratios: ratios, rounds: values[index], processorMicroseconds: unit == .perSecond ? median(processor[index]) : nil)
        }
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

/// Processor time that this process has used so far.
func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let times = [usage.ru_utime, usage.ru_stime]
    return times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}

/// Nanoseconds a call of `work`, from as many calls as fit into about `duration` seconds.
func nanosecondsPerCall(during duration: Double = 0.3, batch: Int = 100, _ work: () async throws -> Void) async rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + .seconds(duration)
    var calls = 0
    repeat {
        for _ in 0..<batch { try await work() }
        calls += batch
    } while clock.now < end
    return (clock.now - start) / .nanoseconds(1) / Double(calls)
}

/// What a benchmark cannot go on without.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
