import Foundation

/// A rule for the segments of paths that are secret, such as `/reset/*`, or `/files/**` for all that follows.
///
/// It applies to the paths that begin with it. Segments are compared decoded, and empty ones do not count.
package struct PathRule: Sendable {
    private enum Part: Equatable {
        case name(String)
        case one
        case rest
    }

    private let parts: [Part]

    /// Reads a rule; nil when the text does not begin with a slash, hides no segment, or has a star elsewhere.
    ///
    /// - Parameter text: A path with `*` in the place of a segment, or with `**` at its end.
    package init?(_ text: String) {
        parts = text.split(separator: "/").map { $0 == "*" ? .one : $0 == "**" ? .rest : .name(Self.decoded($0)) }
        let hasFlaw = parts.contains { if case .name(let name) = $0 { name.contains("*") } else { false } }
        guard text.hasPrefix("/"), !hasFlaw, parts.contains(.one) || parts.last == .rest, !parts.dropLast().contains(.rest) else {
            return nil
        }
    }

    /// Returns the positions of the segments to hide; none if the rule does not apply.
    ///
    /// - Parameter names: The path's segments, decoded and not empty.
    /// - Returns: Positions in `names`.
    package func hidden(in names: [String]) -> [Int] {
        guard names.count >= parts.count else { return [] }
        let applies = zip(parts, names).allSatisfy { part, name in
            if case .name(let wanted) = part { wanted == name } else { true }
        }
        guard applies else { return [] }
        var hidden: [Int] = []
        for (number, part) in parts.enumerated() {
            switch part {
            case .name: continue
            case .one: hidden.append(number)
            case .rest: hidden += number..<names.count
            }
        }
        return hidden
    }

    /// A segment as it is compared.
    package static func decoded(_ segment: some StringProtocol) -> String { segment.removingPercentEncoding ?? String(segment) }
}
