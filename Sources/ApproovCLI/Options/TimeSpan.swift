import ArgumentParser

/// A span of time in an option: `90s`, `10m`, `24h`, `30d`, or `0`.
struct TimeSpan: ExpressibleByArgument, CustomStringConvertible {
    let seconds: Int64

    var duration: Duration { .seconds(seconds) }

    private static let units: [(letter: Character, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]

    init(seconds: Int64) { self.seconds = seconds }

    /// Parses digits and a unit, or `0`; nil for any other text.
    init?(argument: String) {
        if argument == "0" {
            self.init(seconds: 0)
            return
        }
        guard let unit = Self.units.first(where: { $0.letter == argument.last }), let count = UInt32(argument.dropLast()),
            argument.first?.isNumber == true
        else { return nil }
        self.init(seconds: Int64(count) * unit.seconds)
    }

    /// Reads the value of an option.
    /// - Throws: `ValidationError` that shows how a span is written.
    static func read(_ argument: String) throws -> TimeSpan {
        guard let span = TimeSpan(argument: argument) else {
            throw ValidationError("a time must be a number and a unit, such as 90s, 10m, 24h or 30d")
        }
        return span
    }

    /// Reads the value of an option in seconds, which may also have a unit.
    /// - Returns: The seconds.
    /// - Throws: `ValidationError` that shows how they are written.
    static func readSeconds(_ argument: String) throws -> Int {
        guard let seconds = Int(argument) ?? TimeSpan(argument: argument).map({ Int($0.seconds) }) else {
            throw ValidationError("it takes a number of seconds, such as 300, or a number and a unit, such as 90s, 5m or 24h")
        }
        return seconds
    }

    /// The span in the largest unit that divides it and is smaller than it, else in seconds.
    var description: String {
        guard let unit = Self.units.first(where: { seconds % $0.seconds == 0 && seconds > $0.seconds }) else { return "\(seconds)s" }
        return "\(seconds / unit.seconds)\(unit.letter)"
    }

    /// The longest time until an entry expires.
    private static let longestExpiry = TimeSpan(seconds: 3_650 * 86_400)

    /// Refuses a span that is no time until an entry expires.
    /// - Throws: `ValidationError` unless it is 1 second to 3,650 days.
    func checkAsExpiry() throws {
        guard (1...Self.longestExpiry.seconds).contains(seconds) else {
            throw ValidationError("-expireAfter must be 1s to \(Self.longestExpiry): a number and a unit, such as 90s, 10m, 24h or 30d.")
        }
    }

    /// The end of the span if it begins now, in seconds since 1970.
    var end: Int64 { RFC3339.now + seconds }
}
