public import CertificatePinning
package import HTTPClient

/// What ``ApproovSession/wipe(_:)`` wipes.
public struct WipeScope: Sendable {
    private enum Extent {
        case all
        case hosts([HostPattern])
        case urls([URLGlob])
    }

    private let extent: Extent

    /// Every request of the session, and the tokens and cookies of the hosts that get its credential; of all hosts in a session
    /// without a credential.
    public static let all = WipeScope(extent: .all)

    /// The requests to some hosts, and the tokens and cookies of these hosts.
    ///
    /// - Parameter hosts: The hosts.
    /// - Returns: The scope.
    public static func hosts(_ hosts: [HostPattern]) -> WipeScope { WipeScope(extent: .hosts(hosts)) }

    /// The requests to some URLs, and the responses to them in caches.
    ///
    /// Tokens and cookies stay: they belong to whole hosts. A wipe cancels a request if the app asked for a matching URL, or if the request
    /// went to one, even before a redirect. It removes a cached response if the app asked for a matching URL, or if the
    /// request was sent to one. Paths are compared as servers may read them: `items/../users/1` and `%75sers/1` count as `users/1`.
    ///
    /// - Parameter patterns: The patterns, such as `https://api.example.com/users/**`.
    /// - Returns: The scope.
    public static func urls(_ patterns: [URLGlob]) -> WipeScope { WipeScope(extent: .urls(patterns)) }

    /// Whether everything is wiped.
    package var isAll: Bool { if case .all = extent { true } else { false } }

    /// The hosts whose tokens and cookies are forgotten; nil for all.
    var hosts: [HostPattern]? {
        switch extent {
        case .all: nil
        case .hosts(let hosts): hosts
        case .urls: []
        }
    }

    /// Whether a request to a URL, and the response to it, is wiped.
    package func contains(_ url: TransportURL) -> Bool {
        switch extent {
        case .all: true
        case .hosts(let hosts): hosts.contains { $0.matches(url.host) }
        case .urls(let patterns): patterns.contains { $0.covers(url) }
        }
    }
}
