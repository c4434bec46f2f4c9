import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Sends the cookies of a wrapped session's storage, and stores the cookies of responses there.
struct SessionCookies: Sendable {
    /// The most lines Set-Cookie of one response that are read; further ones are ignored.
    private static let maximumLines = 50
    /// The most cookies of a domain; the oldest give way (RFC 6265, section 6.1, which asks for at least as many).
    private static let maximumPerDomain = 50
    /// The most bytes of a cookie's name and value; larger ones are ignored (RFC 6265, section 6.1).
    private static let maximumBytes = 4_096

    private let storage: HTTPCookieStorage
    /// Whether requests carry the cookies of the storage.
    private let sends: Bool
    /// Whether the storage gets the cookies of responses.
    private let stores: Bool

    /// Returns nil when the configuration has no storage.
    ///
    /// As in Foundation on Linux, `httpShouldSetCookies` decides about requests alone, and the policy about responses alone. A wipe clears
    /// the storage in any case.
    init?(_ configuration: URLSessionConfiguration) {
        guard let storage = configuration.httpCookieStorage else { return nil }
        self.storage = storage
        sends = configuration.httpShouldSetCookies
        stores = configuration.httpCookieAcceptPolicy != .never
    }

    /// Returns the value of the Cookie header for a URL; nil when no cookie matches, or the session sends none.
    func header(for url: URL) -> String? {
        guard sends else { return nil }
        // Foundation takes a long time to find the cookies of a host, and most programs have none at all.
        guard storage.cookies?.isEmpty == false else { return nil }
        let now = Date()
        let cookies = (storage.cookies(for: url) ?? []).filter { Self.isMeant($0, for: url, at: now) }
        guard !cookies.isEmpty else { return nil }
        // Longer paths first, then the older ones (RFC 6265, section 5.4): the storage has no order.
        let sorted = cookies.sorted { first, second in
            let (one, other) = (first.path.utf8.count, second.path.utf8.count)
            guard one == other else { return one > other }
            let (made, madeLater) = (Self.creation(of: first) ?? 0, Self.creation(of: second) ?? 0)
            return made == madeLater ? first.name < second.name : made < madeLater
        }
        return HTTPCookie.requestHeaderFields(with: sorted)["Cookie"]
    }

    /// Adds the cookies of a response to the storage, unless the session accepts none.
    func store(from response: TransportResponse, to url: URL) {
        guard stores else { return }
        // An address has no parent domain (RFC 6265, section 5.1.3), but Foundation compares texts.
        let isAddress = url.host().map { (try? CanonicalHost($0))?.kind != .name } ?? true
        var domains: Set<String> = []
        for line in response.headerFields[values: .setCookie].prefix(Self.maximumLines) {
            guard let cookie = HTTPCookie(setCookie: line, from: url), !Self.isMeantForPublicSuffix(cookie),
                !(isAddress && cookie.domain.hasPrefix(".")), cookie.name.utf8.count + cookie.value.utf8.count <= Self.maximumBytes,
                !wouldHideSecureCookie(cookie, from: url), storage.cookies?.contains(where: cookie.isMistaken) != true
            else { continue }
            storage.setCookies([cookie], for: url, mainDocumentURL: nil)
            domains.insert(cookie.domain)
        }
        for domain in domains { removeOldest(of: domain) }
    }

    /// Whether a cookie that came over http would take the place of one that only https may carry, or stand before it (RFC 6265bis,
    /// section 5.7).
    private func wouldHideSecureCookie(_ cookie: HTTPCookie, from url: URL) -> Bool {
        guard url.scheme?.lowercased() != "https" else { return false }
        let now = Date()
        return (storage.cookies ?? []).contains {
            $0.isSecure && $0.name == cookie.name && !Self.hasExpired($0, at: now) && $0.sharesDomain(with: cookie)
                && $0.matches(path: cookie.path)
        }
    }

    /// Removes the oldest cookies of a domain that has too many: first expired ones, which the storage keeps, and then those that http may
    /// carry, so that no response over http removes one of https (RFC 6265bis, section 5.7).
    private func removeOldest(of domain: String) {
        var own = (storage.cookies ?? []).filter { $0.domain == domain }
        guard own.count > Self.maximumPerDomain else { return }
        let now = Date()
        for cookie in own where Self.hasExpired(cookie, at: now) { storage.deleteCookie(cookie) }
        own.removeAll { Self.hasExpired($0, at: now) }
        let sorted = own.sorted { first, second in
            guard first.isSecure == second.isSecure else { return second.isSecure }
            return (Self.creation(of: first) ?? 0) < (Self.creation(of: second) ?? 0)
        }
        for cookie in sorted.dropLast(Self.maximumPerDomain) { storage.deleteCookie(cookie) }
    }

    /// Whether the storage is the one that all sessions share.
    var isShared: Bool { storage === HTTPCookieStorage.shared }

    /// Removes cookies.
    ///
    /// - Parameter hosts: The hosts that must get none of the cookies from now on; nil for all cookies of a storage that is the session's own.
    func clear(_ hosts: [HostPattern]?) {
        // Cookies of the shared storage that this session neither sends nor stores belong to others.
        guard !isShared || hosts != nil && (sends || stores) else { return }
        for cookie in storage.cookies ?? [] where hosts.map({ Self.reaches($0, cookie) }) ?? true { storage.deleteCookie(cookie) }
    }

    /// Whether a host of the patterns could get the cookie (RFC 6265, section 5.1.3).
    private static func reaches(_ hosts: [HostPattern], _ cookie: HTTPCookie) -> Bool {
        let domain = cookie.domain.lowercased()
        let name = cookie.bareDomain
        // What cannot be compared is removed.
        guard let host = try? CanonicalHost(name) else { return true }
        return hosts.contains { pattern in
            if pattern.matches(host) { return true }
            guard domain.hasPrefix(".") else { return false }
            return pattern.forms.contains { form in
                let base = form.drop { $0 == "*" || $0 == "." }
                return base == name || base.hasSuffix("." + name) || base.count < form.count && name.hasSuffix("." + base)
            }
        }
    }

    /// Checks the conditions of RFC 6265, section 5.4 other than the domain: Foundation's storage on Linux checks only the domain.
    private static func isMeant(_ cookie: HTTPCookie, for url: URL, at now: Date) -> Bool {
        guard !cookie.isSecure || url.scheme?.lowercased() == "https" else { return false }
        guard !hasExpired(cookie, at: now) else { return false }
        return cookie.matches(path: url.path(percentEncoded: true))
    }

    private static func hasExpired(_ cookie: HTTPCookie, at now: Date) -> Bool { end(of: cookie).map { $0 <= now } ?? false }

    /// Returns when the cookie expires.
    ///
    /// Max-Age takes precedence over Expires (RFC 6265, section 5.3). Foundation on Linux stores Max-Age but ignores it.
    private static func end(of cookie: HTTPCookie) -> Date? {
        guard let text = cookie.properties?[.maximumAge] as? String, let age = TimeInterval(text),
            let created = creation(of: cookie)
        else { return cookie.expiresDate }
        return Date(timeIntervalSinceReferenceDate: created + age)
    }

    /// When the cookie was made, in seconds of Foundation's reference date.
    private static func creation(of cookie: HTTPCookie) -> TimeInterval? {
        cookie.properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval
    }

    /// Whether the cookie's domain is a public suffix such as com or co.uk, so that hosts of different owners would get it.
    ///
    /// See RFC 6265, section 5.3, step 5. If the list of public suffixes is not available, every cookie for a whole domain counts as such.
    private static func isMeantForPublicSuffix(_ cookie: HTTPCookie) -> Bool {
        cookie.domain.hasPrefix(".") && PublicSuffixes.contains(cookie.bareDomain) ?? true
    }
}
