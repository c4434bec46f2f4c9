internal import ApproovBase
internal import Foundation

/// A host in the one form under which it is connected to, pinned and asked a token for.
///
/// Whatever two readers could understand differently is refused instead of repaired: percent signs, user info, characters beyond
/// ASCII, and every number that is not a dotted quad of plain decimals (RFC 6943 §3.1.1).
public struct CanonicalHost: Hashable, Sendable, CustomStringConvertible {
    /// What a host is.
    public enum Kind: Sendable {
        /// A DNS name.
        case name
        /// An IPv4 address.
        case ipv4
        /// An IPv6 address.
        case ipv6
    }

    /// The host in lower case without a trailing dot; an IPv6 address without brackets in the form of RFC 5952.
    public let name: String
    /// What the host is.
    public let kind: Kind

    /// Reads a host as a URL, a configuration or a command line holds it.
    ///
    /// Case and one trailing dot do not matter. An IPv6 address may stand in brackets; one that maps an IPv4 address is that address.
    /// - Throws: ``PinningError`` `malformedHost`.
    public init(_ raw: String) throws {
        if let name = HostName.alreadyCanonical(raw) {
            self.init(name: name, kind: .name)
            return
        }
        switch HostName.read(raw) {
        case .success(let host): self = host
        case .failure(let flaw):
            throw PinningError(.malformedHost, "\"\(LoggableText.quoted(raw))\" is no host: \(flaw.explanation)")
        }
    }

    init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// The host as it stands in a URL: an IPv6 address in brackets.
    public var urlText: String { kind == .ipv6 ? "[\(name)]" : name }

    /// Whether the host is this machine: 127.0.0.0/8, ::1, "localhost" and the names below it (RFC 6761 §6.3).
    public var isLoopback: Bool {
        switch kind {
        case .name: name == "localhost" || name.hasSuffix(".localhost")
        case .ipv4: name.hasPrefix("127.")
        case .ipv6: name == "::1"
        }
    }

    /// The name.
    public var description: String { name }

    /// Whether both are the same host.
    public static func == (left: CanonicalHost, right: CanonicalHost) -> Bool { left.name == right.name }

    /// Hashes the name, which decides the kind.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
