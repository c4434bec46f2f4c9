import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The settings that a wrapped session's configuration applies to every request, read once.
///
/// The owner of a `URLSessionConfiguration` may change it later. Like a `URLSession`, this type keeps the values from the start.
struct SessionDefaults: Sendable {
    /// The additional headers.
    let fields: HTTPFields
    /// The additional headers without those that may be meant for one origin only.
    let fieldsElsewhere: HTTPFields
    /// The longest time without any progress on the connection.
    let idleTimeout: Duration
    /// The longest time for a request with all its redirects and retries.
    let totalTimeout: Duration
    let cookies: SessionCookies?
    let httpProxy: ProxyConfiguration?
    let httpsProxy: ProxyConfiguration?
    let cachePolicy: URLRequest.CachePolicy

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - configuration: The wrapped session's configuration.
    ///   - staysBehind: Whether a header, named in lower case, must not go to another origin.
    /// - Throws: ``ApproovError`` with code `initializationError` when an additional header or a proxy is malformed or not supported.
    init(_ configuration: URLSessionConfiguration, staysBehind: (String) -> Bool) throws {
        var fields = HTTPFields()
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            do {
                try fields.append("\(name)", "\(value)")
            } catch {
                throw ApproovError(.initializationError, "an additional header of the wrapped session cannot be sent", cause: error)
            }
        }
        self.fields = fields
        fieldsElsewhere = HTTPFields(fields.filter { !staysBehind($0.name.canonicalName) })
        idleTimeout = Self.duration(configuration.timeoutIntervalForRequest)
        totalTimeout = Self.duration(configuration.timeoutIntervalForResource)
        cookies = SessionCookies(configuration)
        cachePolicy = configuration.requestCachePolicy
        let proxies = configuration.connectionProxyDictionary ?? [:]
        try Self.refuseUnsupported(proxies)
        let socks = try Self.proxy(proxies, "SOCKS")
        httpProxy = try Self.proxy(proxies, "HTTP") ?? socks
        httpsProxy = try Self.proxy(proxies, "HTTPS") ?? socks
    }

    /// The longest time without any progress for one request; `added` is what an interceptor gave a request without its own.
    func idleTimeout(for request: URLRequest, added: Duration? = nil) -> Duration {
        if let added { return Self.duration(added / .seconds(1)) }
        let seconds = request.timeoutInterval
        return seconds == URLRequest.standardTimeout ? idleTimeout : Self.duration(seconds)
    }

    /// The proxy for one request; nil for none.
    func proxy(isSecure: Bool) -> ProxyConfiguration? { isSecure ? httpsProxy : httpProxy }

    /// The request's own cache policy; that of the session for a request that leaves it to the protocol.
    func cachePolicy(of request: URLRequest) -> URLRequest.CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? cachePolicy : request.cachePolicy
    }

    /// Adds the additional headers that the request does not set itself.
    func merge(into fields: inout HTTPFields, hasLeftOrigin: Bool) {
        let defaults = hasLeftOrigin ? fieldsElsewhere : self.fields
        guard !defaults.isEmpty else { return }
        // Compare with the request's own names only, so that two additional headers with the same name are both sent.
        let own = fields
        for field in defaults where !own.contains(field.name) { fields.append(field) }
    }

    /// The longest timeout, in seconds: a year is as good as no limit.
    private static let longestTimeout: TimeInterval = 31_536_000
    /// The shortest timeout, in seconds.
    private static let shortestTimeout: TimeInterval = 0.001

    private static func duration(_ seconds: TimeInterval) -> Duration {
        // Infinity and not-a-number have no `Duration`.
        .seconds(seconds.isFinite ? min(max(seconds, shortestTimeout), longestTimeout) : longestTimeout)
    }

    /// Reads the proxy of one scheme, from CFNetwork's keys: HTTPEnable, HTTPProxy, HTTPPort, and the same for HTTPS and SOCKS.
    private static func proxy(_ dictionary: [AnyHashable: Any], _ scheme: String) throws -> ProxyConfiguration? {
        guard let name = dictionary[scheme + "Proxy"] as? String, isOn(dictionary[scheme + "Enable"]) ?? true else { return nil }
        guard let port = (dictionary[scheme + "Port"] as? Int) ?? (dictionary[scheme + "Port"] as? NSNumber)?.intValue,
            (1...65_535).contains(port)
        else {
            throw ApproovError(.initializationError, "the wrapped session's \(scheme) proxy has no port from 1 to 65535")
        }
        do {
            return ProxyConfiguration(kind: scheme == "SOCKS" ? .socks5 : .http, host: try CanonicalHost(name), port: port)
        } catch {
            throw ApproovError(.initializationError, "the wrapped session's \(scheme) proxy is not a valid host", cause: error)
        }
    }

    /// Refuses proxy settings that are not supported.
    ///
    /// If they were ignored silently, requests would take a path that the app's developer did not choose.
    private static func refuseUnsupported(_ dictionary: [AnyHashable: Any]) throws {
        let isAutomatic = ["ProxyAutoConfigEnable", "ProxyAutoDiscoveryEnable"].contains { isOn(dictionary[$0]) == true }
        let hasExceptions = (dictionary["ExceptionsList"] as? [Any])?.isEmpty == false || isOn(dictionary["ExcludeSimpleHostnames"]) == true
        let hasCredentials = dictionary.keys.contains { "\($0)".lowercased().hasSuffix("username") }
        guard !isAutomatic, !hasExceptions, !hasCredentials else {
            throw ApproovError(
                .initializationError,
                "the wrapped session's proxies are configured in a way that is not supported (automatic configuration, exceptions or a user"
                    + " name): name an HTTP, HTTPS or SOCKS proxy alone")
        }
    }

    private static func isOn(_ value: Any?) -> Bool? { (value as? NSNumber)?.boolValue ?? (value as? Bool) }
}
