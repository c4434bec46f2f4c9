import CertificatePinning

/// Values by host pattern, looked up by any pattern that lies entirely inside.
///
/// Two patterns never overlap partially: either one contains the other, or they have no host in common. So the most specific pattern
/// around another one applies to each of its hosts. Exclusions preserve this, because excluded names are patterns of the table too.
struct PatternTable<Value> {
    private struct Entry {
        let value: Value
        let exclusions: Set<String>
    }

    private var entries: [String: Entry] = [:]

    /// Sets the value of a pattern, replacing an earlier one.
    mutating func insert(_ value: Value, for pattern: HostPattern) {
        for form in pattern.forms {
            entries[form] = Entry(value: value, exclusions: form.hasPrefix("*") ? pattern.exclusions : [])
        }
    }

    /// All patterns in the table, and the patterns of the names that they exclude.
    var patterns: Set<String> {
        entries.reduce(into: []) { patterns, entry in
            patterns.insert(entry.key)
            for name in entry.value.exclusions { patterns.formUnion([name, "**." + name]) }
        }
    }

    /// The names that the entry for exactly this pattern excludes.
    func exclusions(of pattern: String) -> Set<String> { entries[pattern]?.exclusions ?? [] }

    /// The value of the most specific pattern that contains every host of `pattern`.
    ///
    /// - Parameters:
    ///   - pattern: The pattern.
    ///   - crossesPublicSuffixes: Whether a pattern contains hosts by name alone, even if a public suffix separates them from it.
    /// - Returns: The value.
    func value(around pattern: String, crossesPublicSuffixes: Bool = false) -> Value? {
        let inner = String(Self.base(of: pattern))
        return Self.patterns(around: pattern, crossesPublicSuffixes: crossesPublicSuffixes).lazy
            .compactMap { entries[$0] }
            .first { !HostPattern.excludes(inner, $0.exclusions) }?.value
    }

    private static func base(of pattern: String) -> Substring {
        pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.hasPrefix("*.") ? pattern.dropFirst(2) : pattern[...]
    }

    /// The patterns that contain every host of `pattern`, itself included, the most specific first.
    ///
    /// Stops at a public suffix, unless told to cross it: names separated by one do not belong together.
    static func patterns(around pattern: String, crossesPublicSuffixes: Bool = false) -> [String] {
        let inner = base(of: pattern)
        let isHost = inner.count == pattern.count
        var around = [pattern]
        if pattern.hasPrefix("*.") { around.append("**." + inner) }
        let host = String(inner)
        var base = inner
        while let dot = base.firstIndex(of: ".") {
            base = base[base.index(after: dot)...]
            guard crossesPublicSuffixes || !PublicSuffixes.part(host, from: base) else { break }
            if isHost, around.count == 1 { around.append("*." + base) }
            around.append("**." + base)
        }
        return around
    }
}
