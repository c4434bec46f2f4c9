import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// What a wrapped session's configuration says about every request, made ready once.
///
/// `URLSessionConfiguration` is a class that its owner may go on changing: like a `URLSession`, this keeps what it said at the beginning.
struct SessionDefaults: Sendable {
    /// The additional headers.
    let fields: HTTPFields
    /// Those of them left out that may be meant for one origin alone.
    let fieldsElsewhere: HTTPFields
    /// How long nothing may happen.
    let idleTimeout: Duration
    /// How long a request with all its redirects may take.
    let totalTimeout: Duration
    let cookies: SessionCookies?
    let httpProxy: ProxyConfiguration?
    let httpsProxy: ProxyConfiguration?
    let cachePolicy: URLRequest.CachePolicy

    /// Reads a configuration.
    ///
    /// - Throws: ``ApproovError`` `initializationError` for an additional header or a proxy that is malformed.
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

    /// The bounds of one transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isSecure: Whether it goes over https.
    ///   - remaining: How long it may take; nil: as long as the configuration says.
    /// - Returns: The bounds.
    func options(for request: URLRequest, isSecure: Bool, remaining: Duration?) -> TransferOptions {
        var options = TransferOptions()
        // 60 s is what a request says that says nothing.
        options.idleTimeout = request.timeoutInterval == 60 ? idleTimeout : Self.duration(request.timeoutInterval)
        options.connectTimeout = min(options.connectTimeout, options.idleTimeout)
        options.totalTimeout = remaining ?? totalTimeout
        options.proxy = isSecure ? httpsProxy : httpProxy
        return options
    }

    /// Adds what the request does not say itself.
    func merge(into fields: inout HTTPFields, hasLeftOrigin: Bool) {
        let defaults = hasLeftOrigin ? fieldsElsewhere : self.fields
        guard !defaults.isEmpty else { return }
        // Against the request's own names: two additional lines of one name both stay.
        let own = fields
        for field in defaults where !own.contains(field.name) { fields.append(field) }
    }

    private static func duration(_ seconds: TimeInterval) -> Duration {
        // A year is as good as never; infinity and not-a-number have no Duration.
        seconds.isFinite ? .seconds(min(max(seconds, 0.001), 31_536_000)) : .seconds(31_536_000)
    }

    /// The keys are those of CFNetwork: HTTPEnable, HTTPProxy, HTTPPort, and the same with HTTPS and SOCKS.
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
            throw ApproovError(.initializationError, "the wrapped session's \(scheme) proxy is no host", cause: error)
        }
    }

    /// A proxy that is left out without a word is a request that goes where nobody wanted it.
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
