public import CertificatePinning
import HTTPTypes

/// Fetches look-ups over plain HTTP, as the certificates' URLs say (RFC 6960, appendix A; RFC 5280, section 4.2.1.13).
///
/// Plain http is safe because the answers are signed. https would not work, because the responder's certificate would itself need look-ups.
/// Only a 200 with the right content type counts; redirects are not followed.
public struct HTTPLookupFetcher: TrustLookupFetching {
    /// The largest OCSP response, in bytes.
    public static let maximumOCSPBytes = 64 << 10
    /// The largest CRL, in bytes.
    ///
    /// The look-up parses the CRL. The evaluator checks its signature inside a handshake, on the transport's one thread, which takes some
    /// milliseconds for the largest CRL.
    public static let maximumCRLBytes = 1 << 20
    /// The largest header section of an answer, in bytes.
    private static let maximumHeaderBytes = 16 << 10
    /// How long connecting may take, and each wait for the server.
    private static let idleTimeout: Duration = .seconds(5)
    /// How long one look-up may take.
    private static let totalTimeout: Duration = .seconds(10)

    private let transport: any HTTPTransport
    private let policy: TrustPolicy
    /// The local address to connect from; nil leaves the choice to the system.
    private let localAddress: CanonicalHost?
    /// Whether to refuse connections to addresses that are not public.
    private let refusesPrivateAddresses: Bool

    /// Makes a fetcher.
    ///
    /// - Parameters:
    ///   - transport: Sends the requests.
    ///   - policy: The policy of the requests; as they use plain http, it only decides which hosts are refused.
    public init(transport: any HTTPTransport, policy: TrustPolicy) {
        self.transport = transport
        self.policy = policy
        localAddress = nil
        refusesPrivateAddresses = false
    }

    /// Makes a fetcher for the look-ups of one route.
    ///
    /// If the route refuses private addresses, so does the fetcher: a server's certificate names where to look up.
    ///
    /// - Parameters:
    ///   - transport: Sends the requests.
    ///   - policy: The policy of the requests.
    ///   - route: The way to the responders.
    init(transport: any HTTPTransport, policy: TrustPolicy, route: LookupRoute) {
        self.transport = transport
        self.policy = policy
        localAddress = route.localAddress
        refusesPrivateAddresses = route.refusesPrivateAddresses
    }

    /// Fetches the answer of one look-up within ten seconds.
    ///
    /// - Parameters:
    ///   - lookup: What to look up, and where.
    ///   - proxy: The proxy to use; nil: none.
    /// - Returns: The answer's bytes, in DER.
    /// - Throws: ``TransportError`` with code `unsupported` for a scheme other than http, `malformedResponse` for a status other than 200
    ///   or the wrong content type, `bodyTooLarge` above the limits, and the errors of the transport.
    public func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] {
        let url = try TransportURL(lookup.url)
        guard !url.isSecure else {
            throw TransportError(.unsupported, "look-ups go over plain http: over https they would themselves need look-ups")
        }
        let (limit, types) =
            switch lookup.kind {
            case .ocsp: (Self.maximumOCSPBytes, ["application/ocsp-response"])
            case .crl: (Self.maximumCRLBytes, ["application/pkix-crl", "application/x-pkcs7-crl", "application/octet-stream"])
            }
        var options = TransferOptions()
        options.connectTimeout = Self.idleTimeout
        options.idleTimeout = Self.idleTimeout
        options.totalTimeout = Self.totalTimeout
        options.maximumHeaderBytes = Self.maximumHeaderBytes
        options.maximumBodyBytes = limit
        options.decompresses = false
        options.proxy = proxy
        options.localAddress = localAddress
        options.refusesPrivateAddresses = refusesPrivateAddresses
        options.isIdempotent = true
        var request = TransportRequest(url: url, policy: policy, options: options)
        if lookup.kind == .ocsp {
            request.method = .post
            request.headerFields[.contentType] = "application/ocsp-request"
            request.body = .bytes(lookup.requestBody)
        }
        let response = try await addingRemedy(lookup.kind) { try await transport.send(request) }
        guard response.status == 200 else {
            throw TransportError(.malformedResponse, "the server answered the look-up with status \(response.status)")
        }
        let type = (response.headerFields[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        guard types.contains(type.filter { $0 != " " }) else {
            throw TransportError(.malformedResponse, "the server's answer to the look-up is not \(types[0])")
        }
        return try await addingRemedy(lookup.kind) { try await response.body.collect(upTo: limit) }
    }

    /// Throws what `body` throws; for a CRL that is too large, the error says what to do.
    private func addingRemedy<Value>(_ kind: TrustLookup.Kind, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as TransportError where error.code == .bodyTooLarge && kind == .crl {
            throw TransportError(
                .bodyTooLarge,
                "the CRL is larger than \(Self.maximumCRLBytes) bytes, which would delay every request while its signature is checked; use OCSP for"
                    + " this host (stapled or looked up)")
        }
    }
}
