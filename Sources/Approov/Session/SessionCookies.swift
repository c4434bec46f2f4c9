import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The cookies of a wrapped session: sent from its storage, and put there.
struct SessionCookies: Sendable {
    private let storage: HTTPCookieStorage

    /// Nil when the configuration wants no cookies.
    init?(_ configuration: URLSessionConfiguration) {
        guard configuration.httpShouldSetCookies, configuration.httpCookieAcceptPolicy != .never,
            let storage = configuration.httpCookieStorage
        else { return nil }
        self.storage = storage
    }

    /// The value of the Cookie header for a URL; nil without cookies.
    func header(for url: URL) -> String? {
        let now = Date()
        let cookies = (storage.cookies(for: url) ?? []).filter { Self.isMeant($0, for: url, at: now) }
        guard !cookies.isEmpty else { return nil }
        return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
    }

    /// Puts the cookies of a response into the storage.
    func store(from response: TransportResponse, to url: URL) {
        guard response.headerFields.scan(for: .setCookie) else { return }
        // One by one: values of several lines joined with commas cannot be told apart again.
        for value in response.headerFields[values: .setCookie] {
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
                .filter { !Self.isMeantForPublicSuffix($0) }
            if !cookies.isEmpty { storage.setCookies(cookies, for: url, mainDocumentURL: nil) }
        }
    }

    /// What RFC 6265 section 5.4 asks beside the domain; Foundation's storage on Linux looks at nothing else.
    private static func isMeant(_ cookie: HTTPCookie, for url: URL, at now: Date) -> Bool {
        guard !cookie.isSecure || url.scheme?.lowercased() == "https" else { return false }
        if let end = end(of: cookie), end <= now { return false }
        let path = url.path(percentEncoded: true)
        guard path != cookie.path, !cookie.path.isEmpty else { return true }
        guard path.hasPrefix(cookie.path) else { return cookie.path == "/" }
        return cookie.path.hasSuffix("/") || path.dropFirst(cookie.path.count).hasPrefix("/")
    }

    /// When it is over; Max-Age comes before Expires (RFC 6265 section 5.3), and Foundation on Linux keeps it without heeding it.
    private static func end(of cookie: HTTPCookie) -> Date? {
        guard let text = cookie.properties?[.maximumAge] as? String, let age = TimeInterval(text),
            let created = cookie.properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval
        else { return cookie.expiresDate }
        return Date(timeIntervalSinceReferenceDate: created + age)
    }

    /// Whether its domain is one such as com or co.uk: hosts of different people would get the cookie (RFC 6265 section 5.3, step 5).
    private static func isMeantForPublicSuffix(_ cookie: HTTPCookie) -> Bool {
        cookie.domain.hasPrefix(".") && PublicSuffixes.contains(String(cookie.domain.dropFirst()).lowercased()) ?? true
    }
}
