import ApproovBase
import Foundation

/// Hides the segments of paths that may be secrets, such as that of `/reset/TOKEN`.
struct PathMasks: Sendable {
    /// The longest segment, and the longest name of a query parameter, that is shown, in bytes: longer ones may be tokens.
    static let longestShown = 40

    private let rules: [PathRule]

    /// Reads the rules.
    ///
    /// - Parameter rules: Paths such as "/reset/*" or "/files/**".
    /// - Throws: ``ApproovError`` with code `initializationError` for a rule that is not such a path.
    init(_ rules: [String] = []) throws {
        self.rules = try rules.map { text in
            guard let rule = PathRule(text) else {
                throw ApproovError(
                    .initializationError,
                    "maskedPaths has \"\(LoggableText.name(text))\": write a path such as /reset/* or, for all that follows, /files/**")
            }
            return rule
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
        let names = rules.isEmpty ? [] : used.map { PathRule.decoded(segments[$0]) }
        let isAmbiguous = !rules.isEmpty && segments.contains { URLGlob.isAmbiguous(Substring($0).utf8) }
        var hidden = Set(used.filter { isAmbiguous || segments[$0].utf8.count > Self.longestShown })
        for rule in rules { hidden.formUnion(rule.hidden(in: names).map { used[$0] }) }
        for index in hidden { segments[index] = "*" }
        return segments.joined(separator: "/")
    }
}
