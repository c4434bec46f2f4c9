internal import CertificatePinning
internal import Foundation
internal import HTTPClient
internal import HTTPTypes
internal import OHTTP

/// Decides which targets the gateway forwards to, and how it trusts them.
///
/// The client chooses the target that an encapsulated request names. The gateway connects only if scheme, host and port, after
/// canonicalisation, equal one of the operator's origins. It does not follow redirects: the client sends each hop as a new request, which
/// is checked here.
struct AllowedTargets: Sendable {
    private let origins: Set<String>
    let policy: TrustPolicy

    /// Reads the operator's list of origins, pins and roots.
    /// - Throws: ``GatewayError`` with code `malformedOrigin` or `malformedPin`; with code `identityFailed` when the roots cannot be read.
    init(_ configuration: GatewayConfiguration) throws {
        var origins: Set<String> = []
        var hosts: Set<CanonicalHost> = []
        guard !configuration.allowedOrigins.isEmpty else {
            throw GatewayError(
                .malformedOrigin,
                "no origin is allowed, so the gateway could forward nothing; allow one such as https://api.example.com")
        }
        for text in configuration.allowedOrigins {
            let url = try Self.origin(text)
            origins.insert(url.origin)
            if url.isSecure { hosts.insert(url.host) }
        }
        self.origins = origins
        policy = try Self.policy(configuration, hosts: hosts)
    }

    private static func origin(_ text: String) throws -> TransportURL {
        func refuse(_ why: String, _ cause: (any Error)? = nil) -> GatewayError {
            GatewayError(.malformedOrigin, "\(text) is not an origin such as https://api.example.com: \(why)", cause: cause)
        }
        let url: TransportURL
        do {
            url = try TransportURL(text)
        } catch {
            throw refuse("an origin is a scheme, a host and, unless it is the default, a port", error)
        }
        guard url.target == "/", !text.contains("?"), !text.contains("#") else { throw refuse("it has a path, a query or a fragment") }
        guard url.isSecure || url.host.isLoopback else { throw refuse("plain http is only allowed on this machine") }
        return url
    }

    private static func policy(_ configuration: GatewayConfiguration, hosts: Set<CanonicalHost>) throws -> TrustPolicy {
        var pins: [CanonicalHost: Set<Pin>] = [:]
        for (name, list) in configuration.pins {
            do {
                pins[try CanonicalHost(name), default: []].formUnion(try Pin.list(list))
            } catch {
                throw GatewayError(
                    .malformedPin,
                    "\(name) is not a host, or its pins are not different pins of the form sha256/BASE64; to print pins: approov pin -get",
                    cause: error)
            }
        }
        if let stranger = pins.keys.first(where: { !hosts.contains($0) }) {
            throw GatewayError(
                .malformedOrigin, "\(stranger.name) has pins, but no allowed https origin has this host; allow https://\(stranger.name) too"
            )
        }
        do {
            let rules = try hosts.map { host in
                // A backup pin is not required: unlike an app's, a gateway's configuration can be changed when the key is lost.
                let evaluator: any ServerTrustEvaluating =
                    try pins[host].map { try PublicKeysTrustEvaluator(withoutBackup: $0) } ?? DefaultTrustEvaluator()
                return (HostPattern(host), TrustRule(evaluators: [evaluator]))
            }
            let anchors = try configuration.trustRootsPEM.map { try TrustAnchors(pem: $0, validAt: Date()) } ?? .system()
            return TrustPolicy(rules: try HostMap(rules), defaultAnchors: anchors)
        } catch {
            throw GatewayError(
                .identityFailed, "the roots to trust for the origins cannot be used; give PEM roots that are valid now", cause: error)
        }
    }

    /// The target of a request; nil if the gateway may not forward it.
    func target(of request: HTTPRequest) -> TransportURL? {
        guard request.method != .connect, request.extendedConnectProtocol == nil, let scheme = request.scheme,
            let path = request.path, path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(UInt8(ascii: "#")),
            let authority = Self.authority(of: request), let root = Self.url(scheme, authority, "/"),
            let url = Self.url(scheme, authority, path), url.target == path
        else { return nil }
        let origin = root.origin
        return origins.contains(origin) && url.origin == origin ? url : nil
    }

    /// Whether the gateway may forward to the origin that a request names, whatever else is wrong with the request.
    func allowsOrigin(of request: HTTPRequest) -> Bool {
        let host = request.headerFields.first { $0.name.canonicalName == "host" }?.value
        let named = request.authority.flatMap { $0.isEmpty ? nil : $0 }
        guard let scheme = request.scheme, let authority = named ?? host, let root = Self.url(scheme, authority, "/") else { return false }
        return origins.contains(root.origin)
    }

    /// The authority that a request names (RFC 9292, section 3.4): in its control data or, if that is empty, in its Host field.
    ///
    /// If both are present they must name the same origin, because an origin server may use either.
    private static func authority(of request: HTTPRequest) -> String? {
        let fields = request.headerFields.filter { $0.name.canonicalName == "host" }.map(\.value)
        guard fields.count <= 1 else { return nil }
        let named = request.authority.flatMap { $0.isEmpty ? nil : $0 }
        guard let authority = named ?? fields.first, !authority.isEmpty,
            !authority.utf8.contains(where: { "/?#@\\".utf8.contains($0) })
        else { return nil }
        if let named, let field = fields.first, let scheme = request.scheme {
            guard let first = url(scheme, named, "/"), let second = url(scheme, field, "/"), first.origin == second.origin else {
                return nil
            }
        }
        return authority
    }

    private static func url(_ scheme: String, _ authority: String, _ path: String) -> TransportURL? {
        guard ["http", "https"].contains(scheme.lowercased()) else { return nil }
        return try? TransportURL("\(scheme)://\(authority)\(path)")
    }
}
