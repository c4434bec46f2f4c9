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

    /// The span in the largest unit that divides it and is smaller than it, else in seconds.
    var description: String {
        guard let unit = Self.units.first(where: { seconds % $0.seconds == 0 && seconds > $0.seconds }) else { return "\(seconds)s" }
        return "\(seconds / unit.seconds)\(unit.letter)"
    }
}
