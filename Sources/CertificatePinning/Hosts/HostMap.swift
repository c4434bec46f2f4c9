/// Values by host pattern: the most specific pattern decides, and values are not merged.
///
/// An exact name wins over all other patterns, then the longest base; for one base, `*.` wins over `**.`. A host that a pattern excludes
/// falls to the next wider pattern. A public suffix between a host and a pattern's base (`evil.s3.amazonaws.com` and `**.amazonaws.com`)
/// separates them: neither that pattern nor a wider one matches. (A ``TrustPolicy`` still holds such a host to the pattern's rule.) A
/// look-up costs one probe per label of the host, independent of the number of entries.
public struct HostMap<Value: Sendable>: Sendable {
    // Usable from other modules, so that the compiler makes a version of the look-up for each type of values.
    @usableFromInline var exact: [String: Value] = [:]
    private var values: [Value] = []
    /// The positions in `values` of the patterns that are not exact names.
    private var patterns = HostPatternTable()

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
        var isFree = true
        if pattern.scope == .exact || pattern.scope == .exactAndBelow {
            isFree = exact.updateValue(value, forKey: pattern.base.name) == nil
        }
        if pattern.scope != .exact {
            isFree = patterns.insert(pattern, position: values.count) && isFree
            values.append(value)
        }
        guard isFree else {
            throw PinningError(.duplicatePattern, "two entries are for \(pattern), and it is unclear which one applies; remove one")
        }
        count += 1
    }

    /// The value of the most specific pattern for the host.
    @inlinable public func value(for host: CanonicalHost) -> Value? { exact[host.name] ?? valueBelow(host) }

    /// The value of the most specific pattern that is not an exact name.
    @usableFromInline func valueBelow(_ host: CanonicalHost) -> Value? {
        guard let found = patterns.covering(host), !found.isSeparated else { return nil }
        return values[found.position]
    }

    /// The value of the most specific pattern by name alone, and whether a public suffix separates the host from it.
    ///
    /// For rules that an update of the public suffix list must not lift.
    package func covering(_ host: CanonicalHost) -> (value: Value, isSeparated: Bool)? {
        if let value = exact[host.name] { return (value, false) }
        return patterns.covering(host).map { (values[$0.position], $0.isSeparated) }
    }
}
