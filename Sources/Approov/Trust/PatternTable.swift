import CertificatePinning

/// Values by host pattern, looked up by any pattern that lies wholly within.
///
/// Patterns never overlap in part: of two, one holds all hosts of the other, or they share none. So the most specific pattern around
/// another one decides for every host of it. Exclusions keep to that, as the excluded names are patterns of the table as well.
struct PatternTable<Value> {
    private struct Entry {
        let value: Value
        let exclusions: Set<String>
    }

    private var entries: [String: Entry] = [:]

    /// Puts a value in; the last one for a pattern holds.
    mutating func insert(_ value: Value, for pattern: HostPattern) {
        for form in pattern.forms {
            entries[form] = Entry(value: value, exclusions: form.hasPrefix("*") ? pattern.exclusions : [])
        }
    }

    /// All patterns as they are written, and those of the names that any of them excludes.
    var patterns: Set<String> {
        entries.reduce(into: []) { patterns, entry in
            patterns.insert(entry.key)
            for name in entry.value.exclusions { patterns.formUnion([name, "**." + name]) }
        }
    }

    /// The names that the entry of exactly this pattern excludes.
    func exclusions(of pattern: String) -> Set<String> { entries[pattern]?.exclusions ?? [] }

    /// The value of the most specific pattern that holds every host of `pattern`.
    func value(around pattern: String) -> Value? {
        let inner = String(Self.base(of: pattern))
        return Self.patterns(around: pattern).lazy
            .compactMap { entries[$0] }
            .first { !HostPattern.excludes(inner, $0.exclusions) }?.value
    }

    private static func base(of pattern: String) -> Substring {
        pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.hasPrefix("*.") ? pattern.dropFirst(2) : pattern[...]
    }

    /// The patterns that hold every host of `pattern`, the most specific first, itself included.
    ///
    /// A base from which a public suffix parts the pattern's hosts is not around it, nor is any shorter one.
    static func patterns(around pattern: String) -> [String] {
        let inner = base(of: pattern)
        let isHost = inner.count == pattern.count
        var around = [pattern]
        if pattern.hasPrefix("*.") { around.append("**." + inner) }
        let host = String(inner)
        var base = inner
        while let dot = base.firstIndex(of: ".") {
            base = base[base.index(after: dot)...]
            guard !PublicSuffixes.part(host, from: base) else { break }
            if isHost, around.count == 1 { around.append("*." + base) }
            around.append("**." + base)
        }
        return around
    }
}
