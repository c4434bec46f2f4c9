/// Finds the most specific pattern for a host among those that are not exact names, and says at which position its value is.
///
/// Separate from ``HostMap``, because code that is not generic takes two thirds of the time.
struct HostPatternTable: Sendable {
    private struct Entry: Sendable {
        let position: Int
        let exclusions: Set<String>
    }

    private struct Below: Sendable {
        var oneLabel: Entry?
        var anyLabels: Entry?

        func entry(for name: String, isOneLabel: Bool) -> Entry? {
            if isOneLabel, let oneLabel, !HostPattern.excludes(name, oneLabel.exclusions) { return oneLabel }
            guard let anyLabels, !HostPattern.excludes(name, anyLabels.exclusions) else { return nil }
            return anyLabels
        }
    }

    private var below: [Substring: Below] = [:]
    /// One bit for each key length in `below`, modulo 64: it saves the probe for most labels of most hosts.
    private var lengths: UInt64 = 0

    private static func bit(of name: Substring) -> UInt64 { 1 << UInt64(name.utf8.count % 64) }

    /// Adds a pattern that is not an exact name; false when an equally specific pattern was there.
    mutating func insert(_ pattern: HostPattern, position: Int) -> Bool {
        let base = pattern.base.name[...]
        lengths |= Self.bit(of: base)
        let entry = Entry(position: position, exclusions: pattern.exclusions)
        let old: Entry?
        if pattern.scope == .oneLabelBelow {
            old = below[base]?.oneLabel
            below[base, default: Below()].oneLabel = entry
        } else {
            old = below[base]?.anyLabels
            below[base, default: Below()].anyLabels = entry
        }
        return old == nil
    }

    /// The position of the most specific pattern by name alone, and whether a public suffix separates the host from it.
    func covering(_ host: CanonicalHost) -> (position: Int, isSeparated: Bool)? {
        guard !below.isEmpty, host.kind == .name else { return nil }
        let name = host.name
        var isOneLabel = true
        var rest = name[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if lengths & Self.bit(of: rest) != 0, let entry = below[rest]?.entry(for: name, isOneLabel: isOneLabel) {
                return (entry.position, PublicSuffixes.part(name, from: rest))
            }
            isOneLabel = false
        }
        return nil
    }
}
