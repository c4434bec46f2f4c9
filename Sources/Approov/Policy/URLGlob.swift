import ApproovBase
import CertificatePinning
public import Foundation
package import HTTPClient

/// A pattern for URLs of one server, or of the servers of one domain: `https://api.example.com/public/**`.
///
/// - The scheme is https. The host is a name, or a pattern such as `*.example.com` (see `HostPattern`); the port is 443 unless it is named.
/// - In the path, `*` stands for any characters of one segment, `?` for one character, and the segment `**` for any number of segments:
///   `/a/**/b` matches `/a/b` and `/a/x/y/b`, and `/a/**` matches `/a/` and everything below it, but not `/a`.
/// - The whole path must match, in the percent-encoded form in which it is sent. The query does not count.
///
/// A path that servers may read in two ways matches no pattern: one with dot segments, a percent-encoded dot segment, slash or backslash,
/// or more than 8,192 bytes. Matching takes a time that is bounded by the product of the lengths of path and pattern.
public struct URLGlob: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes of a pattern.
    public static let maximumBytes = 1_024
    /// The most wildcards of a pattern.
    public static let maximumWildcards = 16
    /// The most bytes of a path that matches.
    public static let maximumPathBytes = 8_192

    /// A part of the pattern's path.
    private enum Segment: Hashable {
        /// Any number of segments.
        case any
        /// One segment, with wildcards.
        case one([UInt8])
    }

    /// The pattern as it was given.
    public let description: String
    private let isSecure: Bool
    private let host: HostPattern
    private let port: Int
    private let segments: [Segment]
    /// The segments in normal form.
    private let normalSegments: [Segment]

    /// Reads a pattern.
    ///
    /// - Parameter text: The pattern, in visible ASCII characters, as URLs are sent.
    /// - Throws: ``ApproovError`` with code `initializationError`, which names the pattern, when it is too long, has too many wildcards, or
    ///   is malformed.
    public init(_ text: String) throws { try self.init(text, isSecure: true) }

    /// Reads a pattern for paths below a base URL, such as `items/**` below `https://api.example.com/v1`.
    ///
    /// A leading slash changes nothing: `/items/**` is the same pattern. `**` matches all paths below the base. A pattern that begins with
    /// `https://` stands for itself.
    ///
    /// - Parameters:
    ///   - text: The pattern.
    ///   - base: The base URL, http or https, without query and wildcards.
    /// - Throws: ``ApproovError`` with code `initializationError`, which names the pattern, when it is too long, has too many wildcards, or
    ///   is malformed, or when the base URL cannot be requested.
    public init(_ text: String, relativeTo base: URL) throws {
        guard !text.hasPrefix("https://") else {
            try self.init(text, isSecure: true)
            return
        }
        // Below the base, a URL would be a path that no request has.
        if let colon = text.firstRange(of: "://"), text[..<colon.lowerBound].allSatisfy(\.isLetter) {
            throw ApproovError(
                .initializationError,
                "\"\(LoggableText.quoted(text))\" is not a pattern for URLs: write a path below the base URL, or one that begins with https://"
            )
        }
        let url: TransportURL
        do {
            url = try TransportURL(base)
        } catch {
            throw ApproovError(.initializationError, "a pattern for URLs has a base URL that cannot be requested", cause: error)
        }
        guard !url.target.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "*") }) else {
            throw ApproovError(.initializationError, "a pattern for URLs has a base URL with a query or a wildcard; leave it out")
        }
        let folder = url.target.hasSuffix("/") ? url.target : url.target + "/"
        let own = text.hasPrefix("/") ? text.dropFirst() : text[...]
        let scheme = url.isSecure ? "https" : "http"
        try self.init("\(scheme)://\(url.host.urlText):\(url.port)\(folder)\(own)", isSecure: url.isSecure)
    }

    private init(_ text: String, isSecure: Bool) throws {
        func refusal(_ reason: String, cause: (any Error)? = nil) -> ApproovError {
            ApproovError(.initializationError, "\"\(LoggableText.quoted(text))\" is not a pattern for URLs: \(reason)", cause: cause)
        }
        guard text.utf8.count <= Self.maximumBytes else { throw refusal("it has more than \(Self.maximumBytes) bytes") }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") }) else {
            throw refusal("it has a space, a fragment, a backslash, or a control or non-ASCII character; percent-encode it")
        }
        let scheme = isSecure ? "https://" : "http://"
        guard text.hasPrefix(scheme), let slash = text.dropFirst(scheme.count).firstIndex(of: "/") else {
            throw refusal("it must begin with https://, a host and a path, as in https://api.example.com/public/**")
        }
        let wildcards = text[slash...].utf8.count { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }
        guard wildcards <= Self.maximumWildcards else { throw refusal("it has more than \(Self.maximumWildcards) wildcards") }
        let authority = text[text.index(text.startIndex, offsetBy: scheme.count)..<slash]
        do {
            (host, port) = try Self.hostAndPort(authority)
        } catch {
            throw refusal("its host or port is malformed", cause: error)
        }
        var segments: [Segment] = []
        for part in Self.parts(of: text[slash...].utf8) {
            guard !Self.isAmbiguous(part) else { throw refusal("it has a dot segment, or a percent-encoded dot, slash or backslash") }
            if part.elementsEqual("**".utf8) {
                segments.append(.any)
            } else {
                guard !Self.hasDoubleStar(part) else { throw refusal("** must be a whole segment, as in /public/**") }
                segments.append(.one(Array(part)))
            }
        }
        // At the end, ** stands for at least one segment, which may be empty.
        if segments.last == .any { segments.append(.one([UInt8(ascii: "*")])) }
        self.segments = segments
        normalSegments = segments.map { segment in
            guard case .one(let part) = segment else { return segment }
            return .one(PercentEncoding.normalised(part))
        }
        self.isSecure = isSecure
        description = text
    }

    /// Whether a URL matches the pattern; false for a URL that cannot be requested.
    public func matches(_ url: URL) -> Bool { (try? TransportURL(url)).map(matches) ?? false }

    /// Whether a canonical URL matches the pattern.
    func matches(_ url: TransportURL) -> Bool {
        guard let parts = path(of: url).map(Self.parts(of:)) else { return false }
        return !parts.contains(where: Self.isAmbiguous) && Self.matches(parts[...], segments)
    }

    /// Whether a server may read the URL as one that matches.
    ///
    /// It may remove dot segments, decode unreserved characters and ignore the case of hex digits (RFC 3986, section 6.2.2), take an
    /// encoded slash or backslash for a slash, take several slashes for one, and ignore what follows a semicolon in a segment.
    ///
    /// For rules that a request must not avoid by another spelling of its path; ``matches(_:)-(URL)`` is for rules that grant something.
    package func covers(_ url: TransportURL) -> Bool {
        // Not only up to ``maximumPathBytes``: a longer path must not avoid a rule or a wipe.
        guard let path = wholePath(of: url) else { return false }
        let normal = String(decoding: PercentEncoding.normalised(path), as: UTF8.self)
        var readings = [normal]
        if normal.contains("%2F") || normal.contains("%5C") {
            readings.append(normal.replacing("%2F", with: "/").replacing("%5C", with: "/"))
        }
        return readings.contains { reading in
            let parts = Self.parts(of: Substring(reading).utf8)
            guard !covers(parts) else { return true }
            guard reading.contains(";") || reading.contains("%3B") else { return false }
            // Some servers remove the parameters of dot segments before they look for these, and some the parameters of all segments.
            return covers(parts.map(Self.dotsWithoutParameters)) || covers(parts.map(Self.withoutParameters))
        }
    }

    /// A segment without its parameters, which follow a semicolon.
    private static func withoutParameters(_ part: Substring.UTF8View) -> Substring.UTF8View {
        let end = part.indices.first {
            part[$0] == UInt8(ascii: ";") || part[$0] == UInt8(ascii: "%") && String(Substring(part[$0...].prefix(3))).lowercased() == "%3b"
        }
        return part[..<(end ?? part.endIndex)]
    }

    /// A dot segment without its parameters; any other segment as it is.
    private static func dotsWithoutParameters(_ part: Substring.UTF8View) -> Substring.UTF8View {
        let bare = withoutParameters(part)
        return dots(in: bare) == nil ? part : bare
    }

    /// Whether the segments of a path in normal form match after its dot segments are removed, with or without its empty segments.
    private func covers(_ parts: [Substring.UTF8View]) -> Bool {
        let resolved = Self.withoutDotSegments(parts)
        guard !Self.matches(resolved[...], normalSegments) else { return true }
        guard parts.dropLast().contains(where: \.isEmpty) else { return false }
        // Some servers take several slashes for one, before or after they remove dot segments.
        return Self.matches(Self.withoutEmptySegments(resolved)[...], normalSegments)
            || Self.matches(Self.withoutDotSegments(Self.withoutEmptySegments(parts))[...], normalSegments)
    }

    /// The segments without empty ones; the last stays, because it says whether the path ends in a slash.
    private static func withoutEmptySegments(_ parts: [Substring.UTF8View]) -> [Substring.UTF8View] {
        parts.dropLast().filter { !$0.isEmpty } + parts.suffix(1)
    }

    /// The segments that are left when each ".." removes the one before it.
    private static func withoutDotSegments(_ parts: [Substring.UTF8View]) -> [Substring.UTF8View] {
        var kept: [Substring.UTF8View] = []
        for (index, part) in parts.enumerated() {
            guard let dots = Self.dots(in: part) else {
                kept.append(part)
                continue
            }
            if dots == 2 { _ = kept.popLast() }
            // A dot segment at the end leaves a slash.
            if index == parts.count - 1 { kept.append(Substring().utf8) }
        }
        return kept
    }

    /// The URL's path; nil if the URL is one of another server, or its path is too long.
    private func path(of url: TransportURL) -> Substring.UTF8View? {
        wholePath(of: url).flatMap { $0.count <= Self.maximumPathBytes ? $0 : nil }
    }

    private func wholePath(of url: TransportURL) -> Substring.UTF8View? {
        guard url.isSecure == isSecure, url.port == port, host.matches(url.host) else { return nil }
        let target = url.target.utf8
        return target[..<(target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex)]
    }

    /// Compares segment by segment; after a mismatch, the last `**` takes one segment more.
    private static func matches(_ parts: ArraySlice<Substring.UTF8View>, _ segments: [Segment]) -> Bool {
        var (part, segment) = (parts.startIndex, 0)
        var last: (part: Int, segment: Int)?
        while part < parts.endIndex {
            if segment < segments.count, case .any = segments[segment] {
                segment += 1
                last = (part, segment)
            } else if segment < segments.count, case .one(let pattern) = segments[segment], matches(parts[part], pattern) {
                (part, segment) = (part + 1, segment + 1)
            } else if let before = last {
                last = (before.part + 1, before.segment)
                (part, segment) = (before.part + 1, before.segment)
            } else {
                return false
            }
        }
        return segments[segment...].allSatisfy { $0 == .any }
    }

    /// Compares byte by byte; after a mismatch, the last `*` takes one byte more.
    private static func matches(_ part: Substring.UTF8View, _ pattern: [UInt8]) -> Bool {
        var byte = part.startIndex
        var place = 0
        var last: (byte: Substring.UTF8View.Index, place: Int)?
        while byte < part.endIndex {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                place += 1
                last = (byte, place)
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == part[byte] {
                byte = part.index(after: byte)
                place += 1
            } else if let before = last {
                byte = part.index(after: before.byte)
                place = before.place
                last = (byte, place)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    /// The segments of a path, which begins with a slash.
    private static func parts(of path: Substring.UTF8View) -> [Substring.UTF8View] {
        path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    /// Whether servers may read the segment in two ways.
    static func isAmbiguous(_ part: Substring.UTF8View) -> Bool {
        guard dots(in: withoutParameters(part)) == nil else { return true }
        var rest = part
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[rest.index(after: percent)...]
            if ["2f", "5c"].contains(String(Substring(rest.prefix(2))).lowercased()) { return true }
        }
        return false
    }

    /// How many dots a dot segment has, percent-encoded ones among them; nil for other segments.
    private static func dots(in part: Substring.UTF8View) -> Int? {
        var dots = 0
        var rest = part
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), String(Substring(rest.prefix(2))).lowercased() == "2e" {
                rest = rest.dropFirst(2)
            } else if byte != UInt8(ascii: ".") {
                return nil
            }
            dots += 1
        }
        return (1...2).contains(dots) ? dots : nil
    }

    private static func hasDoubleStar(_ part: Substring.UTF8View) -> Bool {
        zip(part, part.dropFirst()).contains { $0 == UInt8(ascii: "*") && $1 == UInt8(ascii: "*") }
    }

    private static func hostAndPort(_ authority: Substring) throws -> (HostPattern, Int) {
        // The colons of an IPv6 address are within brackets.
        let afterBracket = authority.lastIndex(of: "]") ?? authority.startIndex
        guard let colon = authority[afterBracket...].firstIndex(of: ":") else { return (try HostPattern(String(authority)), 443) }
        // TransportURL checks the port.
        let port = try TransportURL("https://localhost" + authority[colon...]).port
        return (try HostPattern(String(authority[..<colon])), port)
    }
}
