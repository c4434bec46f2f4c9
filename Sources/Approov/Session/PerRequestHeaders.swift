public import FoundationNetworking

/// Header fields that a session adds to each request, such as an ID that tells a server which attempts belong to one call.
///
/// ```swift
/// configuration.perRequestHeaders = PerRequestHeaders { _ in ["X-Request-ID": UUID().uuidString] }
/// ```
///
/// If a request waits at a gate, the session adds the fields after the wait. It makes none for a host that
/// ``ApproovSessionConfiguration/allowedHosts`` refuses, and does not replace a header that the request already has. A redirect within the
/// origin keeps the added fields. One to another origin drops them, except those that describe the content asked for; the same holds for
/// the request's own headers.
///
/// The closure must not name a header that something else sets; otherwise the session refuses the request. These are Authorization, Cookie
/// and Host, and the headers of the token, of its binding, of a signature, of a secure string and of a proxy, and those that delimit the
/// message.
///
/// No cache keeps a response of such a session, because each request may be different.
public struct PerRequestHeaders: Sendable {
    /// How often the closure is called.
    public enum Scope: Sendable, Hashable {
        /// Once for each call of the app; all attempts and redirects have the same values.
        case perCall
        /// Again for each retry, and for a request that is sent again with another token unless a redirect led to it; an interceptor that
        /// decides about a retry does not see the values.
        case perAttempt
    }

    let scope: Scope
    let make: @Sendable (URLRequest) -> [String: String]

    /// Describes the header fields that a session adds.
    ///
    /// - Parameters:
    ///   - scope: How often the closure is called; once for each call of the app by default.
    ///   - make: Returns the header fields for a request, by name. It must not block.
    public init(_ scope: Scope = .perCall, _ make: @escaping @Sendable (URLRequest) -> [String: String]) {
        self.scope = scope
        self.make = make
    }
}
