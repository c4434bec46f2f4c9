import ApproovBase
import Foundation

/// Hides the segments of paths that may be secrets, such as that of `/reset/TOKEN`.
struct PathMasks: Sendable {
    /// The longest segment, and the longest name of a query parameter, that is shown, in bytes: longer ones may be tokens.
    static let longestShown = 40

    private enum Part: Equatable {
        case name(String)
        case one
        case rest
    }

    private let rules: [[Part]]

    /// Reads the rules.
    ///
    /// - Parameter rules: Paths such as "/reset/*" or "/files/**".
    /// - Throws: ``ApproovError`` with code `initializationError` for a rule that is not such a path.
    init(_ rules: [String] = []) throws {
        self.rules = try rules.map { rule in
            let parts = rule.split(separator: "/").map { $0 == "*" ? Part.one : $0 == "**" ? .rest : .name(Self.decoded($0)) }
            let hasFlaw = parts.contains { if case .name(let name) = $0 { name.contains("*") } else { false } }
            guard rule.hasPrefix("/"), !hasFlaw, parts.contains(.one) || parts.last == .rest, !parts.dropLast().contains(.rest) else {
                throw ApproovError(
                    .initializationError,
                    "maskedPaths has \"\(LoggableText.name(rule))\": write a path such as /reset/* or, for all that follows, /files/**")
            }
            return parts
        }
    }

    /// Returns the path with `*` in the place of each segment to hide.
    ///
    /// A rule applies to the paths that begin with it. Segments are compared decoded. If there are rules, and servers may read the path in
    /// two ways (see `URLGlob`), all segments are hidden, so that no other spelling evades a rule.
    func masked(_ path: Substring) -> String {
        // No segment is longer than the path.
        if rules.isEmpty, path.utf8.count <= Self.longestShown { return String(path) }
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let used = segments.indices.filter { !segments[$0].isEmpty }
        let names = rules.isEmpty ? [] : used.map { Self.decoded(segments[$0]) }
        let isAmbiguous = !rules.isEmpty && segments.contains { URLGlob.isAmbiguous(Substring($0).utf8) }
        var hidden = Set(used.filter { isAmbiguous || segments[$0].utf8.count > Self.longestShown })
        for rule in rules where Self.applies(rule, to: names) {
            for (number, part) in rule.enumerated() {
                switch part {
                case .name: continue
                case .one: hidden.insert(used[number])
                case .rest: hidden.formUnion(used[number...])
                }
            }
        }
        for index in hidden { segments[index] = "*" }
        return segments.joined(separator: "/")
    }

    private static func applies(_ rule: [Part], to names: [String]) -> Bool {
        guard names.count >= rule.count else { return false }
        return zip(rule, names).allSatisfy { part, name in
            if case .name(let wanted) = part { wanted == name } else { true }
        }
    }

    private static func decoded(_ segment: some StringProtocol) -> String { segment.removingPercentEncoding ?? String(segment) }
}
