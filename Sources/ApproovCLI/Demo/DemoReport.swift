import Foundation

/// What a step of the demo saw that it should not have seen.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Prints a line for each step and remembers whether all held.
struct DemoReport {
    private struct Line: Encodable {
        let step: String
        let ok: Bool
        let detail: String
        let milliseconds: Double
    }

    let json: Bool
    private(set) var allHeld = true

    init(json: Bool) { self.json = json }

    /// Runs a step, which returns what was seen or throws.
    mutating func step<Value>(_ name: String, _ body: () async throws -> (Value, detail: String)) async throws -> Value? {
        let start = ContinuousClock.now
        do {
            let (value, detail) = try await body()
            try line(name, ok: true, detail: detail, took: start.duration(to: .now))
            return value
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            allHeld = false
            try line(name, ok: false, detail: "\(error)", took: start.duration(to: .now))
            return nil
        }
    }

    private func line(_ name: String, ok: Bool, detail: String, took: Duration) throws {
        let milliseconds = ((took / .milliseconds(1)) * 10).rounded() / 10
        if json {
            try Console.json(Line(step: name, ok: ok, detail: detail, milliseconds: milliseconds))
        } else {
            let name = name.padding(toLength: 24, withPad: " ", startingAt: 0)
            Console.line("\(ok ? "ok  " : "FAIL") \(name) \(detail) (\(milliseconds) ms)")
        }
    }
}
