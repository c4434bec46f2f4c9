public import CertificatePinning
public import Foundation
import HTTPClient

/// The hosts that a session may call; every request to another one fails before any I/O.
///
/// The session checks each redirect and each retry, before it asks interceptors, the Oblivious HTTP route, protocol classes or the wrapped
/// session. While it has a list, it refuses every scheme other than http and https.
///
/// A list says nothing about evaluators: use `allHostsMustBeEvaluated` of ``ApproovTrustManager`` for that.
public struct AllowedHosts: Sendable {
    private enum Rule: Sendable {
        case patterns([HostPattern])
        case predicate(@Sendable (URL) -> Bool)
    }

    private let rule: Rule
    /// Whether the session refuses connections to addresses that are not public.
    let refusesPrivateAddresses: Bool

    /// Allows hosts by pattern.
    ///
    /// - Parameters:
    ///   - patterns: The hosts; an empty list allows none.
    ///   - refusesPrivateAddresses: Whether to refuse connections to addresses that are not public, such as 127.0.0.1, 10.0.0.1 or
    ///     169.254.169.254, even when an allowed name resolves to them. A session with this setting takes no proxy, because the proxy
    ///     would choose the address. Requests over Oblivious HTTP are exempt: the gateway connects.
    public init(_ patterns: [HostPattern], refusesPrivateAddresses: Bool = false) {
        rule = .patterns(patterns)
        self.refusesPrivateAddresses = refusesPrivateAddresses
    }

    /// Allows the URLs for which the closure returns true.
    ///
    /// - Parameters:
    ///   - refusesPrivateAddresses: As for ``init(_:refusesPrivateAddresses:)``.
    ///   - isAllowed: Returns whether a URL may be requested; must not block. Its host is in canonical form.
    /// - Returns: The list.
    public static func `where`(refusesPrivateAddresses: Bool = false, _ isAllowed: @escaping @Sendable (URL) -> Bool) -> AllowedHosts {
        AllowedHosts(rule: .predicate(isAllowed), refusesPrivateAddresses: refusesPrivateAddresses)
    }

    private init(rule: Rule, refusesPrivateAddresses: Bool) {
        self.rule = rule
        self.refusesPrivateAddresses = refusesPrivateAddresses
    }

    /// Checks a URL.
    ///
    /// - Throws: ``ApproovError`` with code `hostNotAllowed`, which names the host.
    func check(_ url: TransportURL) throws {
        let isAllowed =
            switch rule {
            case .patterns(let patterns): patterns.contains { $0.matches(url.host) }
            case .predicate(let isAllowed): URL(string: url.text).map(isAllowed) ?? false
            }
        guard isAllowed else {
            throw ApproovError(
                .hostNotAllowed, "\(url.host) is not among the hosts that this session may call: add it to the session's allowedHosts")
        }
    }

    /// The error for a scheme other than http and https.
    static var foreignScheme: ApproovError {
        ApproovError(
            .hostNotAllowed,
            "this session calls allowed hosts only, over http or https: use another session for URLs with other schemes")
    }
}
