internal import HTTPClient

/// An authority's URL in a comparable spelling: canonical host, explicit port, no trailing slash.
struct AudienceName: Equatable, Sendable {
    /// The URL as given.
    let url: String
    private let canonical: String

    /// Parses a URL; nil if it is not an http or https URL, or has a user, a query or a fragment.
    init?(_ url: String) {
        // `TransportURL` drops a fragment, so look for one before it does.
        guard url.utf8.count <= 2_048, !url.contains("#"), let parsed = try? TransportURL(url), !parsed.target.contains("?")
        else { return nil }
        self.url = url
        canonical = parsed.origin + (parsed.target.hasSuffix("/") ? parsed.target.dropLast() : parsed.target[...])
    }

    static func == (left: AudienceName, right: AudienceName) -> Bool {
        left.canonical == right.canonical
    }
}
