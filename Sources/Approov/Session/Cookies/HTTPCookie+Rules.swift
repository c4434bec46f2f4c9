import Foundation
import FoundationNetworking

/// What Foundation's storage on Linux forgets of a cookie when it is read from its file: that only https may carry it, and when it was
/// made.
///
/// The storage keeps a cookie's comment, which servers no longer send (RFC 6265).
struct CookieNote {
    private static let mark = "approov"
    private static let mustBeSecure = "https"

    /// When the server set the cookie first.
    let created: Date
    /// Whether only https may carry the cookie.
    let needsHTTPS: Bool

    init(created: Date, needsHTTPS: Bool) {
        self.created = created
        self.needsHTTPS = needsHTTPS
    }

    /// Reads a comment; nil if it is another one.
    init?(_ text: String?) {
        guard let parts = text?.split(separator: " "), parts.count >= 2, parts[0] == Self.mark, let time = TimeInterval(parts[1]) else {
            return nil
        }
        created = Date(timeIntervalSinceReferenceDate: time)
        needsHTTPS = parts.dropFirst(2).first == Self.mustBeSecure[...]
    }

    /// The comment.
    var text: String {
        "\(Self.mark) \(created.timeIntervalSinceReferenceDate)" + (needsHTTPS ? " \(Self.mustBeSecure)" : "")
    }
}

extension HTTPCookie {
    /// The domain without the dot that stands for its subdomains, in lower case.
    var bareDomain: String { Self.bare(domain) }

    private static func bare(_ domain: String) -> String {
        String(domain.hasPrefix(".") ? domain.dropFirst() : domain[...]).lowercased()
    }

    /// Whether only https may carry the cookie.
    var needsHTTPS: Bool {
        isSecure || CookieNote(comment)?.needsHTTPS == true || Self.hasPrefix("__secure-", name) || Self.hasPrefix("__host-", name)
    }

    /// When the cookie was made; a cookie that takes the place of another has the time of that one.
    var creation: Date {
        if let note = CookieNote(comment) { return note.created }
        return ownCreation ?? .distantPast
    }

    /// When this object was made, or read from the storage's file.
    private var ownCreation: Date? {
        (properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval).map { Date(timeIntervalSinceReferenceDate: $0) }
    }

    /// Whether the cookie has expired.
    ///
    /// Max-Age takes precedence over Expires (RFC 6265, section 5.3). Foundation on Linux stores the Max-Age of an app's cookie, but
    /// ignores it.
    func hasExpired(at now: Date) -> Bool {
        guard let text = properties?[.maximumAge] as? String, let age = TimeInterval(text), let made = ownCreation else {
            return expiresDate.map { $0 <= now } ?? false
        }
        return made.addingTimeInterval(age) <= now
    }

    /// Whether a name has a prefix, in any letter case.
    ///
    /// - Parameters:
    ///   - prefix: The prefix in lower case.
    ///   - name: The name of a cookie.
    /// - Returns: Whether it has.
    static func hasPrefix(_ prefix: String, _ name: String) -> Bool { name.lowercased().hasPrefix(prefix) }

    /// Whether a new cookie takes the place of this one (RFC 6265, section 5.3, step 11).
    func isSame(as other: SetCookie) -> Bool { domain == other.domain && path == other.path && name == other.name }

    /// Whether a host of this cookie's domain may be one of the other's.
    func sharesDomain(with other: SetCookie) -> Bool {
        let (one, two) = (bareDomain, Self.bare(other.domain))
        return one == two || one.hasSuffix("." + two) || two.hasSuffix("." + one)
    }

    /// Whether Foundation's storage takes both cookies for one, although they are two: it joins domain, path and name.
    func isMistaken(for other: SetCookie) -> Bool {
        name != other.name && domain + path + name == other.domain + other.path + other.name
    }

    /// Whether requests for a path carry the cookie (RFC 6265, section 5.1.4).
    func matches(path: String) -> Bool {
        guard path != self.path, !self.path.isEmpty else { return true }
        guard path.hasPrefix(self.path) else { return self.path == "/" }
        return self.path.hasSuffix("/") || path.dropFirst(self.path.count).hasPrefix("/")
    }
}
