/// Values by the text of a host pattern, looked up by any pattern that lies wholly within.
///
/// Patterns never overlap in part: of two, one holds all hosts of the other, or they share none. So the most specific pattern around
/// another one decides for every host of it.
struct PatternTable<Value> {
    private var values: [String: Value] = [:]

    /// The value of exactly this pattern.
    subscript(pattern: String) -> Value? {
        get { values[pattern] }
        set { values[pattern] = newValue }
    }

    /// All patterns.
    var patterns: some Sequence<String> { values.keys }

    /// The value of the most specific pattern that holds every host of `pattern`.
    func value(around pattern: String) -> Value? {
        Self.patterns(around: pattern).lazy.compactMap { values[$0] }.first
    }

    /// The patterns that hold every host of `pattern`, the most specific first, itself included.
    static func patterns(around pattern: String) -> [String] {
        var around = [pattern]
        var base: Substring
        if pattern.hasPrefix("**.") {
            base = pattern.dropFirst(3)
        } else if pattern.hasPrefix("*.") {
            base = pattern.dropFirst(2)
            around.append("**." + base)
        } else {
            guard let dot = pattern.firstIndex(of: ".") else { return around }
            base = pattern[pattern.index(after: dot)...]
            around += ["*." + base, "**." + base]
        }
        while let dot = base.firstIndex(of: ".") {
            base = base[base.index(after: dot)...]
            around.append("**." + base)
        }
        return around
    }
}
