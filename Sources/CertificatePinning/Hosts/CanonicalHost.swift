internal import ApproovBase
internal import Foundation

/// A host in its one canonical form, used for connections, pins and tokens.
///
/// Input that two parsers could read differently is refused, not repaired: percent signs, user info, non-ASCII characters, and every
/// number except a dotted quad of plain decimals (RFC 6943, section 3.1.1).
public struct CanonicalHost: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a host.
    public enum Kind: Sendable {
        /// A DNS name.
        case name
        /// An IPv4 address.
        case ipv4
        /// An IPv6 address.
        case ipv6
    }

    /// The host in lower case without a trailing dot; for an IPv6 address the form of RFC 5952, without brackets.
    public let name: String
    /// The kind of the host.
    public let kind: Kind

    /// Reads a host from a URL, a configuration or a command line.
    ///
    /// Case and one trailing dot are ignored. An IPv6 address may have brackets; an IPv4-mapped address becomes the IPv4 address.
    /// - Parameter raw: The host.
    /// - Throws: ``PinningError`` with code `malformedHost` when it is neither a host name nor an address.
    public init(_ raw: String) throws {
        if let name = HostName.alreadyCanonical(raw) {
            self.init(name: name, kind: .name)
            return
        }
        switch HostName.read(raw) {
        case .success(let host): self = host
        case .failure(let flaw):
            let shown = LoggableText.quoted(LoggableText.withoutUser(raw))
            throw PinningError(.malformedHost, "\"\(shown)\" is not a host: \(flaw.explanation)")
        }
    }

    init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// The host as it appears in a URL: an IPv6 address has brackets.
    public var urlText: String { kind == .ipv6 ? "[\(name)]" : name }

    /// Whether the host is this machine: 127.0.0.0/8, ::1, "localhost" and the names below it (RFC 6761, section 6.3).
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

    /// Hashes the name alone, because the name determines the kind.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
