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
    /// The most cookies of all domains (RFC 6265, section 6.1).
    private static let maximumTotal = 3_000

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
        guard storage.cookies?.isEmpty == false, let url = CookieOrigin(url)?.canonical(url) else { return nil }
        let now = Date()
        let cookies = (storage.cookies(for: url) ?? []).filter { Self.isMeant($0, for: url, at: now) }
        guard !cookies.isEmpty else { return nil }
        // Longer paths first, then the older ones (RFC 6265, section 5.4): the storage has no order.
        let sorted = cookies.sorted { first, second in
            let (one, other) = (first.path.utf8.count, second.path.utf8.count)
            guard one == other else { return one > other }
            let (made, madeLater) = (first.creation, second.creation)
            return made == madeLater ? first.name < second.name : made < madeLater
        }
        return HTTPCookie.requestHeaderFields(with: sorted)["Cookie"]
    }

    /// Adds the cookies of a response to the storage, unless the session accepts none.
    func store(from response: TransportResponse, to url: URL) {
        guard stores, let origin = CookieOrigin(url), let url = origin.canonical(url) else { return }
        let isSecure = Self.isSecure(url)
        let now = Date()
        var stored = storage.cookies ?? []
        var domains: Set<String> = []
        for line in response.headerFields[values: .setCookie].prefix(Self.maximumLines) {
            guard let new = SetCookie(line, from: origin, isSecure: isSecure, at: now),
                isSecure || !stored.contains(where: { Self.http(new, wouldHide: $0, at: now) })
            else { continue }
            // The storage would take the other cookie away.
            if let other = stored.first(where: { $0.isMistaken(for: new) }) {
                guard other.hasExpired(at: now) || new.needsHTTPS && !other.needsHTTPS else { continue }
                stored.removeAll { $0 === other }
                storage.deleteCookie(other)
            }
            let old = stored.first { $0.isSame(as: new) }
            let created = old.flatMap { $0.hasExpired(at: now) ? nil : $0.creation } ?? now
            guard let cookie = new.cookie(created: created) else { continue }
            stored.removeAll { $0 === old }
            guard !cookie.hasExpired(at: now) else {
                if let old { storage.deleteCookie(old) }
                continue
            }
            storage.setCookies([cookie], for: url, mainDocumentURL: nil)
            stored.append(cookie)
            domains.insert(cookie.domain)
        }
        for domain in domains { removeOldest(of: (storage.cookies ?? []).filter { $0.domain == domain }, keeping: Self.maximumPerDomain) }
        if !domains.isEmpty { removeOldest(of: storage.cookies ?? [], keeping: Self.maximumTotal) }
    }

    /// Whether a cookie that came over http would take the place of one that only https may carry, or stand before it (RFC 6265bis,
    /// section 5.7).
    private static func http(_ new: SetCookie, wouldHide stored: HTTPCookie, at now: Date) -> Bool {
        stored.name == new.name && stored.needsHTTPS && !stored.hasExpired(at: now) && stored.sharesDomain(with: new)
            && stored.matches(path: new.path)
    }

    /// Removes the oldest cookies if there are too many: first expired ones, which the storage keeps, and then those that http may carry,
    /// so that no response over http removes one of https (RFC 6265bis, section 5.7).
    private func removeOldest(of cookies: [HTTPCookie], keeping maximum: Int) {
        guard cookies.count > maximum else { return }
        let now = Date()
        var kept = cookies
        for cookie in kept where cookie.hasExpired(at: now) { storage.deleteCookie(cookie) }
        kept.removeAll { $0.hasExpired(at: now) }
        let sorted = kept.sorted { first, second in
            let isFirstSecure = first.needsHTTPS
            return isFirstSecure == second.needsHTTPS ? first.creation < second.creation : !isFirstSecure
        }
        for cookie in sorted.dropLast(maximum) { storage.deleteCookie(cookie) }
    }

    /// Whether the storage is the one that all sessions share.
    var isShared: Bool { storage === HTTPCookieStorage.shared }

    /// Removes cookies.
    ///
    /// - Parameter hosts: The hosts that must get none of the cookies from now on; nil for all cookies of a storage that is the session's
    ///   own.
    func clear(_ hosts: [HostPattern]?) {
        // Cookies of the shared storage that this session neither sends nor stores belong to others.
        guard !isShared || hosts != nil && (sends || stores) else { return }
        for cookie in storage.cookies ?? [] where hosts.map({ Self.reaches($0, cookie) }) ?? true { storage.deleteCookie(cookie) }
    }

    /// Whether a host of the patterns could get the cookie (RFC 6265, section 5.1.3).
    private static func reaches(_ hosts: [HostPattern], _ cookie: HTTPCookie) -> Bool {
        let domain = cookie.domain.lowercased()
        // What cannot be compared is removed.
        guard let host = try? CanonicalHost(cookie.bareDomain) else { return true }
        let name = host.name
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
        guard isSecure(url) || !cookie.needsHTTPS, !cookie.hasExpired(at: now) else { return false }
        return cookie.matches(path: url.path(percentEncoded: true))
    }

    private static func isSecure(_ url: URL) -> Bool { url.scheme?.lowercased() == "https" }
}
