import ApproovBase
import Foundation
import HTTPClient

/// The URL below which a client's relative requests go.
struct BaseURL: Sendable {
    let url: URL
    /// The URL in canonical form; it ends with a slash.
    private let text: String
    private let canonical: TransportURL

    /// Checks a base URL.
    ///
    /// - Parameter url: An absolute URL without query, fragment and dot segments; its path is a folder, with or without a slash at the end.
    /// - Throws: ``APIError`` with code `invalidURL`.
    init(_ url: URL) throws {
        let given: TransportURL
        do {
            given = try TransportURL(url)
        } catch {
            throw APIError(.invalidURL, "the base URL cannot be requested", cause: error)
        }
        guard !given.target.contains("?"), url.fragment() == nil, !PathSegments.haveDots(given.target) else {
            throw APIError(.invalidURL, "the base URL has a query, a fragment or a dot segment; leave it out")
        }
        text = given.text.hasSuffix("/") ? given.text : given.text + "/"
        guard let url = URL(string: text) else { throw APIError(.invalidURL, "the base URL is malformed") }
        self.url = url
        canonical = given
    }

    /// The URL of a path below the base.
    ///
    /// - Parameter path: The path, with or without a slash at the beginning, and with a query or without one; percent-encoded.
    /// - Returns: The URL.
    /// - Throws: ``APIError`` with code `invalidURL` for a path that could lead elsewhere, or that a URL cannot have.
    func resolve(_ path: String) throws -> URL {
        guard !path.hasPrefix("//"), !path.prefix(while: { $0 != "/" && $0 != "?" }).contains(":") else {
            throw APIError(
                .invalidURL,
                "the path begins like a full URL (with //, or a colon in its first segment); begin it with one slash, or use absolute:")
        }
        guard !path.contains("#") else {
            throw APIError(.invalidURL, "the path has a fragment, which is never sent; leave it out, or write %23 for a # in the path")
        }
        guard !PathSegments.haveDots(path) else {
            throw APIError(.invalidURL, "the path has a segment of dots, which could lead out of the base URL; leave it out")
        }
        let result = text + path.dropFirst(path.hasPrefix("/") ? 1 : 0)
        guard let url = URL(string: result), url.absoluteString == result, contains(url) else {
            throw APIError(.invalidURL, "the path has a character that a URL cannot have there; percent-encode it, or use child(_:)")
        }
        return url
    }

    /// Whether a URL is below the base.
    func contains(_ url: URL) -> Bool {
        guard let other = try? TransportURL(url), !PathSegments.haveDots(other.target) else { return false }
        return other.text.hasPrefix(text) || other.text + "/" == text
    }

    /// Whether two URLs have the same scheme, host and port.
    static func isSameOrigin(_ one: URL, _ other: URL) -> Bool {
        guard let one = try? TransportURL(one), let other = try? TransportURL(other) else { return false }
        return one.origin == other.origin
    }
}

/// The segments of a path, as any server may read them.
enum PathSegments {
    /// How else a server may read a part of a path.
    private static let readings = [("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("\\", "/"), ("%3b", ";")]

    /// Whether the path has a dot segment: plain, percent-encoded, between percent-encoded slashes and backslashes, or with parameters after
    /// a semicolon, which some servers remove first.
    static func haveDots(_ path: String) -> Bool {
        let plain = readings.reduce(path.prefix { $0 != "?" }.lowercased()) { $0.replacing($1.0, with: $1.1) }
        return plain.split(separator: "/").map { $0.prefix { $0 != ";" } }.contains { $0 == "." || $0 == ".." }
    }
}
