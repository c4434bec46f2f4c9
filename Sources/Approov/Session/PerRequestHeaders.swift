public import FoundationNetworking

/// Header fields that a session adds to each request, such as an ID by which a server joins the attempts of one call.
///
/// ```swift
/// configuration.perRequestHeaders = PerRequestHeaders { _ in ["X-Request-ID": UUID().uuidString] }
/// ```
///
/// A request that waits at a gate gets them after the wait. A header that the request itself has stays. As with the request's own headers,
/// a redirect within the origin keeps the added ones, and one to another origin drops them, except those that describe the content asked
/// for. The session refuses a request if the closure names a header that something else sets: Authorization, Cookie and Host, those of the
/// token and of its binding, those of a signature, those that hold secure strings, those of a proxy, and those that delimit the message.
public struct PerRequestHeaders: Sendable {
    /// How often the closure is called.
    public enum Scope: Sendable, Hashable {
        /// Once for each call of the app; all attempts and redirects have the same values.
        case perCall
        /// Again for each retry; an interceptor that decides about a retry does not see the values.
        case perAttempt
    }

    let scope: Scope
    let make: @Sendable (URLRequest) -> [String: String]

    /// Makes the setting.
    ///
    /// - Parameters:
    ///   - scope: How often the closure is called; once for each call of the app by default.
    ///   - make: Returns the header fields for a request, by name. It must not block.
    public init(_ scope: Scope = .perCall, _ make: @escaping @Sendable (URLRequest) -> [String: String]) {
        self.scope = scope
        self.make = make
    }
}
