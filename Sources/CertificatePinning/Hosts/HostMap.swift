/// Values by host pattern: the most specific pattern decides, and values are not merged.
///
/// An exact name wins over all other patterns, then the longest base; for one base, `*.` wins over `**.`. A host that a pattern excludes
/// falls to the next wider pattern. A public suffix between a host and a pattern's base (`evil.s3.amazonaws.com` and `**.amazonaws.com`)
/// separates them: neither that pattern nor a wider one matches. (A ``TrustPolicy`` still holds such a host to the pattern's rule.) A
/// look-up costs one probe per label of the host, independent of the number of entries.
public struct HostMap<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        let exclusions: Set<String>
    }

    private struct Below: Sendable {
        var oneLabel: Entry?
        var anyLabels: Entry?
    }

    // Usable from other modules, so that the compiler makes a version of the look-up for each type of values.
    @usableFromInline var exact: [String: Value] = [:]
    private var below: [Substring: Below] = [:]
    /// One bit for each key length in `below`, modulo 64: it saves the probe for most labels of most hosts.
    private var lengths: UInt64 = 0

    /// The number of entries.
    public private(set) var count = 0

    /// Makes a map without entries.
    public init() {}

    /// Makes a map.
    ///
    /// - Parameter entries: The patterns with their values.
    /// - Throws: ``PinningError`` with code `duplicatePattern` when two equally specific patterns match the same hosts.
    public init(_ entries: some Sequence<(HostPattern, Value)>) throws {
        for (pattern, value) in entries {
            try insert(value, for: pattern)
        }
    }

    private mutating func insert(_ value: Value, for pattern: HostPattern) throws {
        let base = pattern.base.name[...]
        if pattern.scope != .exact { lengths |= Self.bit(of: base) }
        let entry = Entry(value: value, exclusions: pattern.exclusions)
        let isFree: Bool
        switch pattern.scope {
        case .exact:
            isFree = exact.updateValue(value, forKey: pattern.base.name) == nil
        case .oneLabelBelow:
            isFree = below[base]?.oneLabel == nil
            below[base, default: Below()].oneLabel = entry
        case .anyLabelsBelow:
            isFree = below[base]?.anyLabels == nil
            below[base, default: Below()].anyLabels = entry
        case .exactAndBelow:
            let isExactFree = exact.updateValue(value, forKey: pattern.base.name) == nil
            isFree = isExactFree && below[base]?.anyLabels == nil
            below[base, default: Below()].anyLabels = entry
        }
        guard isFree else {
            throw PinningError(.duplicatePattern, "two entries are for \(pattern), and it is unclear which one applies; remove one")
        }
        count += 1
    }

    private static func bit(of name: Substring) -> UInt64 { 1 << UInt64(name.utf8.count % 64) }

    /// The value of the most specific pattern for the host.
    @inlinable public func value(for host: CanonicalHost) -> Value? { exact[host.name] ?? valueBelow(host) }

    /// The value of the most specific pattern that is not an exact name.
    @usableFromInline func valueBelow(_ host: CanonicalHost) -> Value? {
        var isSeparated = false
        let value = valueCovering(host, isSeparated: &isSeparated)
        return isSeparated ? nil : value
    }

    /// The value of the most specific pattern by name alone, and whether a public suffix separates the host from it.
    ///
    /// For rules that an update of the public suffix list must not lift.
    package func covering(_ host: CanonicalHost) -> (value: Value, isSeparated: Bool)? {
        if let value = exact[host.name] { return (value, false) }
        var isSeparated = false
        return valueCovering(host, isSeparated: &isSeparated).map { ($0, isSeparated) }
    }

    // No tuple is returned, because the compiler makes no version of this for each type: the tuple's type would be looked up for each call.
    private func valueCovering(_ host: CanonicalHost, isSeparated: inout Bool) -> Value? {
        guard !below.isEmpty, host.kind == .name else { return nil }
        let name = host.name
        var isFirst = true
        var rest = name[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if lengths & Self.bit(of: rest) != 0, let candidates = below[rest] {
                if isFirst, let entry = candidates.oneLabel, !HostPattern.excludes(name, entry.exclusions) {
                    isSeparated = PublicSuffixes.part(name, from: rest)
                    return entry.value
                }
                if let entry = candidates.anyLabels, !HostPattern.excludes(name, entry.exclusions) {
                    isSeparated = PublicSuffixes.part(name, from: rest)
                    return entry.value
                }
            }
            isFirst = false
        }
        return nil
    }
}
