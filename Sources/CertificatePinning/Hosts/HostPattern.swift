import ApproovBase

/// The hosts that a rule is for, in one of three forms.
///
/// `api.example.com` is that host, and with `includeSubdomains` every name below it as well. `*.example.com` is the names with exactly
/// one label more, `**.example.com` those with one or more; neither is example.com itself. An address stands for itself only.
///
/// A pattern below a public suffix is refused: the hosts of `*.co.uk` or `*.github.io` belong to different people. Where suffixes lie below
/// the base, they and the hosts below them are not meant: `**.amazonaws.com` is not for `evil.s3.amazonaws.com`. Names that the public
/// suffix list does not know may be patterns from two labels on (`*.corp.internal`, `*.demo.localhost`), and any name may stand alone.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// Which hosts around the base are meant.
    enum Scope: Sendable {
        case exact, oneLabelBelow, anyLabelsBelow, exactAndBelow
    }

    let base: CanonicalHost
    let scope: Scope
    /// Names of which neither they nor what is below them is meant.
    package let exclusions: Set<String>

    /// Reads a pattern.
    ///
    /// - Parameters:
    ///   - text: The pattern.
    ///   - includeSubdomains: Whether the names below a plain name are meant as well.
    ///   - exclusions: Names below the base that are not meant, with all that is below them. A wider pattern may be for them.
    /// - Throws: ``PinningError`` `malformedPattern` for a malformed host, a `*` in any other place, a pattern that covers a public suffix
    ///   (`*`, `*.com`, `*.co.uk`), for `includeSubdomains` on an address or beside a `*`, and for an exclusion that is not below the base.
    public init(_ text: String, includeSubdomains: Bool = false, excluding exclusions: [String] = []) throws {
        try self.init(text, includeSubdomains: includeSubdomains, excluding: exclusions, allowingPublicSuffix: false)
    }

    /// Reads a pattern whose base may be a public suffix of two labels or more.
    ///
    /// For what was checked when it was written: the list grows with every update of libpsl, and a name that was added since must not make
    /// a signed configuration or a store unreadable. One label is refused all the same, which no list decides.
    /// - Throws: ``PinningError`` `malformedPattern`.
    package init(
        _ text: String, includeSubdomains: Bool = false, excluding exclusions: [String] = [], allowingPublicSuffix: Bool
    ) throws {
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
            try Self.refusePublicSuffix(base.name, quoted, isAllowed: allowingPublicSuffix && base.name.contains("."))
            guard scope == .exactAndBelow || !includeSubdomains else {
                throw PinningError(.malformedPattern, "\(quoted): includeSubdomains goes with a plain name; for all below it, use **.")
            }
        }
        self.scope = scope
        self.exclusions = try Self.excluded(exclusions, below: base, scope, quoted)
    }

    private static func refusePublicSuffix(_ base: String, _ quoted: String, isAllowed: Bool) throws {
        // Without a list the pattern would match nothing, and its hosts would go without pins.
        guard let isSuffix = PublicSuffixes.contains(base) else {
            throw PinningError(.malformedPattern, "\(quoted) cannot be checked: this libpsl has no public suffix list; install libpsl5")
        }
        guard !isSuffix || isAllowed else {
            throw PinningError(
                .malformedPattern,
                "\(quoted) is too wide: \(base) is a public suffix, below which hosts belong to different people;"
                    + " name the domain below it that is yours")
        }
    }

    private static func excluded(
        _ texts: [String], below base: CanonicalHost, _ scope: Scope, _ quoted: String
    ) throws -> Set<String> {
        try Set(
            texts.map { text in
                guard scope != .exact, let host = try? CanonicalHost(text), host.kind == .name, host.name.hasSuffix("." + base.name) else {
                    throw PinningError(
                        .malformedPattern, "\(quoted) cannot exclude \"\(LoggableText.quoted(text))\": it is no name below \(base)")
                }
                return host.name
            })
    }

    /// The pattern of one host.
    public init(_ host: CanonicalHost) {
        base = host
        scope = .exact
        exclusions = []
    }

    /// Whether the pattern is for the host.
    public func matches(_ host: CanonicalHost) -> Bool {
        if host == base { return scope == .exact || scope == .exactAndBelow }
        guard scope != .exact, host.kind == .name, host.name.hasSuffix(base.name) else { return false }
        let below = host.name.dropLast(base.name.utf8.count)
        guard below.last == ".", !excludes(host.name) else { return false }
        guard scope != .oneLabelBelow || !below.dropLast().contains(".") else { return false }
        return !PublicSuffixes.part(host.name, from: base.name)
    }

    /// The forms without flags and exclusions that together are the pattern, each as it is written: two when a name and all below it are
    /// meant.
    package var forms: [String] {
        switch scope {
        case .exact: [base.name]
        case .oneLabelBelow: ["*." + base.name]
        case .anyLabelsBelow: ["**." + base.name]
        case .exactAndBelow: [base.name, "**." + base.name]
        }
    }

    /// Whether names of any depth below the base are meant.
    package var includesSubdomains: Bool { scope == .anyLabelsBelow || scope == .exactAndBelow }

    /// Whether nothing but this machine is meant.
    package var isLoopback: Bool { base.isLoopback }

    private func excludes(_ name: String) -> Bool {
        HostPattern.excludes(name, exclusions)
    }

    /// Whether a name is one of the excluded or below one.
    package static func excludes(_ name: String, _ exclusions: Set<String>) -> Bool {
        guard !exclusions.isEmpty else { return false }
        var rest = name[...]
        while true {
            if exclusions.contains(String(rest)) { return true }
            guard let dot = rest.firstIndex(of: ".") else { return false }
            rest = rest[rest.index(after: dot)...]
        }
    }

    /// The pattern as it is written.
    public var description: String {
        let text =
            switch scope {
            case .exact: base.name
            case .oneLabelBelow: "*." + base.name
            case .anyLabelsBelow: "**." + base.name
            case .exactAndBelow: base.name + " and below"
            }
        return exclusions.isEmpty ? text : text + " without " + exclusions.sorted().joined(separator: ", ")
    }
}
