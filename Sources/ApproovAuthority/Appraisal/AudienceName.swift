internal import CertificatePinning
internal import Foundation
internal import Synchronization

/// An authority's URL in a comparable spelling: canonical host, explicit port, no trailing slash.
struct AudienceName: Equatable, Sendable {
    /// The URL as given.
    let url: String
    private let canonical: String

    /// Parses a URL; nil if it is not an http or https URL, or has a user, a query or a fragment.
    init?(_ url: String) {
        guard url.utf8.count <= 2_048, let components = URLComponents(string: url), let scheme = components.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let name = components.host, let host = try? CanonicalHost(name),
            components.user == nil, components.password == nil, components.query == nil, components.fragment == nil
        else { return nil }
        let port = components.port ?? (scheme == "https" ? 443 : 80)
        let path = components.path.hasSuffix("/") ? String(components.path.dropLast()) : components.path
        self.url = url
        canonical = "\(scheme)://\(host.urlText):\(port)\(path)"
    }

    static func == (left: AudienceName, right: AudienceName) -> Bool {
        left.canonical == right.canonical
    }
}

/// Holds the authority's own URL once it listens.
final class PublicAudience: Sendable {
    private let state = Mutex<AudienceName?>(nil)

    var value: AudienceName? { state.withLock { $0 } }

    func set(_ name: AudienceName?) {
        state.withLock { $0 = name }
    }
}
