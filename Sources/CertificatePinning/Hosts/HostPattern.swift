/// The hosts that a rule is for, in one of three forms.
///
/// `api.example.com` is that host, and with `includeSubdomains` every name below it as well. `*.example.com` is the names with exactly
/// one label more, `**.example.com` those with one or more; neither is example.com itself. An address stands for itself only.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// Which hosts around the base are meant.
    enum Scope: Sendable {
        case exact, oneLabelBelow, anyLabelsBelow, exactAndBelow
    }

    let base: CanonicalHost
    let scope: Scope

    /// Reads a pattern.
    ///
    /// - Throws: ``PinningError`` `malformedPattern` for a malformed host, a `*` in any other place, a pattern as wide as `*` or `*.com`,
    ///   and for `includeSubdomains` on an address or beside a `*`.
    public init(_ text: String, includeSubdomains: Bool = false) throws {
        let (scope, rest): (Scope, Substring) =
            if text.hasPrefix("**.") {
                (.anyLabelsBelow, text.dropFirst(3))
            } else if text.hasPrefix("*.") {
                (.oneLabelBelow, text.dropFirst(2))
            } else {
                (includeSubdomains ? .exactAndBelow : .exact, text[...])
            }
        let quoted = "\"\(LoggableText.quoted(text))\""
        guard !rest.contains("*") else {
            throw PinningError(
                .malformedPattern, "\(quoted) is no host pattern: a * stands for the first label only, as in *.example.com")
        }
        do {
            base = try CanonicalHost(String(rest))
        } catch {
            throw PinningError(.malformedPattern, "\(quoted) is no host pattern", cause: error)
        }
        if scope != .exact {
            guard base.kind == .name else {
                throw PinningError(.malformedPattern, "\(quoted): nothing is below an address; name it exactly")
            }
            guard base.name.contains(".") else {
                throw PinningError(.malformedPattern, "\(quoted) is too wide: name two labels at least below the *")
            }
            guard scope == .exactAndBelow || !includeSubdomains else {
                throw PinningError(.malformedPattern, "\(quoted): includeSubdomains goes with a plain name; for all below it, use **.")
            }
        }
        self.scope = scope
    }

    /// The pattern of one host.
    public init(_ host: CanonicalHost) {
        base = host
        scope = .exact
    }

    /// Whether the pattern is for the host.
    public func matches(_ host: CanonicalHost) -> Bool {
        if host == base { return scope == .exact || scope == .exactAndBelow }
        guard scope != .exact, host.kind == .name, host.name.hasSuffix(base.name) else { return false }
        let below = host.name.dropLast(base.name.utf8.count)
        guard below.last == "." else { return false }
        return scope != .oneLabelBelow || !below.dropLast().contains(".")
    }

    /// The pattern as it is written.
    public var description: String {
        switch scope {
        case .exact: base.name
        case .oneLabelBelow: "*." + base.name
        case .anyLabelsBelow: "**." + base.name
        case .exactAndBelow: base.name + " and below"
        }
    }
}
