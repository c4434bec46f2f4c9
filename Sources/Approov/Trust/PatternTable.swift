import CertificatePinning

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
    ///
    /// A base from which a public suffix parts the pattern's hosts is not around it, nor is any shorter one.
    static func patterns(around pattern: String) -> [String] {
        let inner = pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.hasPrefix("*.") ? pattern.dropFirst(2) : pattern[...]
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
