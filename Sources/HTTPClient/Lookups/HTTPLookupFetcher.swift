public import CertificatePinning
import HTTPTypes

/// Fetches look-ups over plain HTTP, as the certificates' URLs say (RFC 6960 appendix A, RFC 5280 §4.2.1.13).
///
/// Plain, because answers are signed, and the certificate of an https responder would need look-ups of its own. Nothing but a 200 with
/// the right content type counts; redirects are not followed.
public struct HTTPLookupFetcher: TrustLookupFetching {
    /// The largest OCSP response, in bytes.
    public static let maximumOCSPBytes = 64 << 10
    /// The largest CRL, in bytes.
    ///
    /// It is parsed by the look-up. Its signature is checked inside a handshake, on the transport's one thread: some milliseconds for the
    /// largest.
    public static let maximumCRLBytes = 1 << 20

    private let transport: any HTTPTransport
    private let policy: TrustPolicy

    /// Makes a fetcher.
    ///
    /// - Parameters:
    ///   - transport: What sends the requests.
    ///   - policy: The policy they are sent under; as they are plain http, it only decides which hosts are refused.
    public init(transport: any HTTPTransport, policy: TrustPolicy) {
        self.transport = transport
        self.policy = policy
    }

    /// Fetches the answer of one look-up within ten seconds.
    ///
    /// - Throws: `TransportError` `unsupported` for another scheme than http, `malformedResponse`, `bodyTooLarge` above the limits, and those of the transport.
    public func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] {
        let url = try TransportURL(lookup.url)
        guard !url.isSecure else {
            throw TransportError(.unsupported, "look-ups go over plain http: over https they would need look-ups of their own")
        }
        let (limit, types) =
            switch lookup.kind {
            case .ocsp: (Self.maximumOCSPBytes, ["application/ocsp-response"])
            case .crl: (Self.maximumCRLBytes, ["application/pkix-crl", "application/x-pkcs7-crl", "application/octet-stream"])
            }
        var options = TransferOptions()
        options.connectTimeout = .seconds(5)
        options.idleTimeout = .seconds(5)
        options.totalTimeout = .seconds(10)
        options.maximumHeaderBytes = 16 << 10
        options.maximumBodyBytes = limit
        options.decompresses = false
        options.proxy = proxy
        options.isIdempotent = true
        var request = TransportRequest(url: url, policy: policy, options: options)
        if lookup.kind == .ocsp {
            request.method = .post
            request.headerFields[.contentType] = "application/ocsp-request"
            request.body = .bytes(lookup.requestBody)
        }
        let response = try await sayingWhatHelps(lookup.kind) { try await transport.send(request) }
        guard response.status == 200 else {
            throw TransportError(.malformedResponse, "the look-up was answered with status \(response.status)")
        }
        let type = (response.headerFields[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        guard types.contains(type.filter { $0 != " " }) else {
            throw TransportError(.malformedResponse, "the look-up's answer is not \(types[0])")
        }
        return try await sayingWhatHelps(lookup.kind) { try await response.body.collect(upTo: limit) }
    }

    /// Throws what the body throws; of a CRL that is too large it says what to do.
    private func sayingWhatHelps<Value>(_ kind: TrustLookup.Kind, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as TransportError where error.code == .bodyTooLarge && kind == .crl {
            throw TransportError(
                .bodyTooLarge,
                "the CRL is larger than \(Self.maximumCRLBytes) bytes, which would hold up every transfer while its signature is checked: check this"
                    + " host by OCSP (stapled or looked up)")
        }
    }
}
