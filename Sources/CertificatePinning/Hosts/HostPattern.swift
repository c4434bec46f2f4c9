import ApproovBase

/// A pattern for the hosts that a rule applies to.
///
/// `api.example.com` matches that host, and with `includeSubdomains` every name below it as well. `*.example.com` matches names with
/// exactly one more label, `**.example.com` names with one or more; neither matches example.com itself. An address matches only itself.
///
/// A pattern whose base is a public suffix is refused, because the hosts of `*.co.uk` or `*.github.io` belong to different people. Public
/// suffixes below the base, and the hosts below them, do not match: `**.amazonaws.com` does not match `evil.s3.amazonaws.com`. A name that
/// the public suffix list does not know may be a base if it has two labels or more (`*.corp.internal`, `*.demo.localhost`); an exact name
/// may be any name.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// Which hosts around the base match.
    enum Scope: Sendable {
        case exact, oneLabelBelow, anyLabelsBelow, exactAndBelow
    }

    let base: CanonicalHost
    let scope: Scope
    /// Excluded names: neither they nor the names below them match.
    package let exclusions: Set<String>

    /// Reads a pattern.
    ///
    /// - Parameters:
    ///   - text: The pattern.
    ///   - includeSubdomains: Whether the names below a plain name match as well.
    ///   - exclusions: Names below the base that do not match, together with all names below them. A wider pattern may match them.
    /// - Throws: ``PinningError`` with code `malformedPattern` for a malformed host, a `*` in any other place, a pattern that covers a
    ///   public suffix (`*`, `*.com`, `*.co.uk`), for `includeSubdomains` on an address or beside a `*`, and for an exclusion that is not
    ///   below the base.
    public init(_ text: String, includeSubdomains: Bool = false, excluding exclusions: [String] = []) throws {
        try self.init(text, includeSubdomains: includeSubdomains, excluding: exclusions, allowingPublicSuffix: false)
    }

    /// Reads a pattern whose base may be a public suffix of two labels or more.
    ///
    /// For patterns that were checked when they were written: each update of libpsl can add suffixes, and a new suffix must not make a
    /// signed configuration or a store unreadable. A base of one label is always refused, whatever the list says.
    /// - Parameters:
    ///   - text: The pattern.
    ///   - includeSubdomains: Whether the names below a plain name match as well.
    ///   - exclusions: Names below the base that do not match, together with all names below them.
    ///   - allowingPublicSuffix: Whether a public suffix of two labels or more is accepted as the base.
    /// - Throws: ``PinningError`` with code `malformedPattern` as the public initialiser does, except for public suffixes that are allowed.
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
        let quoted = "\"\(LoggableText.quoted(LoggableText.withoutUser(text)))\""
        guard !rest.contains("*") else {
            throw PinningError(
                .malformedPattern, "\(quoted) is not a host pattern: a * can only be the first label, as in *.example.com")
        }
        do {
            base = try CanonicalHost(String(rest))
        } catch {
            throw PinningError(.malformedPattern, "\(quoted) is not a host pattern", cause: error)
        }
        if scope != .exact {
            guard base.kind == .name else {
                throw PinningError(
                    .malformedPattern, "\(quoted) is not a host pattern: an IP address has no subdomains; name the address itself")
            }
            try Self.refusePublicSuffix(base.name, quoted, isAllowed: allowingPublicSuffix && base.name.contains("."))
            guard scope == .exactAndBelow || !includeSubdomains else {
                throw PinningError(
                    .malformedPattern, "\(quoted): includeSubdomains only applies to a plain name; write **. for all subdomains")
            }
        }
        self.scope = scope
        self.exclusions = try Self.excluded(exclusions, below: base, scope, quoted)
    }

    private static func refusePublicSuffix(_ base: String, _ quoted: String, isAllowed: Bool) throws {
        // If libpsl has no list, the pattern would match nothing, and its hosts would have no pins.
        guard let isSuffix = PublicSuffixes.contains(base) else {
            throw PinningError(
                .malformedPattern, "\(quoted) cannot be checked, because this libpsl has no public suffix list; install libpsl5")
        }
        guard !isSuffix || isAllowed else {
            throw PinningError(
                .malformedPattern,
                "\(quoted) is too wide: \(base) is a public suffix, whose subdomains belong to different owners;"
                    + " name your own domain below it")
        }
    }

    private static func excluded(
        _ texts: [String], below base: CanonicalHost, _ scope: Scope, _ quoted: String
    ) throws -> Set<String> {
        try Set(
            texts.map { text in
                guard scope != .exact, let host = try? CanonicalHost(text), host.kind == .name, host.name.hasSuffix("." + base.name) else {
                    throw PinningError(
                        .malformedPattern, "\(quoted) cannot exclude \"\(LoggableText.quoted(text))\", which is not a subdomain of \(base)")
                }
                return host.name
            })
    }

    /// Makes a pattern that matches one host.
    public init(_ host: CanonicalHost) {
        base = host
        scope = .exact
        exclusions = []
    }

    /// Whether the host matches the pattern.
    public func matches(_ host: CanonicalHost) -> Bool {
        if host == base { return scope == .exact || scope == .exactAndBelow }
        guard scope != .exact, host.kind == .name, host.name.hasSuffix(base.name) else { return false }
        let below = host.name.dropLast(base.name.utf8.count)
        guard below.last == ".", !excludes(host.name) else { return false }
        guard scope != .oneLabelBelow || !below.dropLast().contains(".") else { return false }
        return !PublicSuffixes.part(host.name, from: base.name)
    }

    /// The equivalent patterns as text, without flags and exclusions: two when the pattern matches a name and all names below it.
    package var forms: [String] {
        switch scope {
        case .exact: [base.name]
        case .oneLabelBelow: ["*." + base.name]
        case .anyLabelsBelow: ["**." + base.name]
        case .exactAndBelow: [base.name, "**." + base.name]
        }
    }

    /// Whether names of any depth below the base match.
    package var includesSubdomains: Bool { scope == .anyLabelsBelow || scope == .exactAndBelow }

    /// Whether the base is this machine, so that the pattern matches loopback hosts only.
    package var isLoopback: Bool { base.isLoopback }

    private func excludes(_ name: String) -> Bool {
        HostPattern.excludes(name, exclusions)
    }

    /// Whether the name is an excluded one or below one.
    ///
    /// - Parameters:
    ///   - name: A canonical name.
    ///   - exclusions: The excluded names.
    /// - Returns: Whether the name is excluded.
    package static func excludes(_ name: String, _ exclusions: Set<String>) -> Bool {
        guard !exclusions.isEmpty else { return false }
        var rest = name[...]
        while true {
            if exclusions.contains(String(rest)) { return true }
            guard let dot = rest.firstIndex(of: ".") else { return false }
            rest = rest[rest.index(after: dot)...]
        }
    }

    /// The pattern as text for messages: with " and below" for `includeSubdomains`, and with its exclusions.
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
