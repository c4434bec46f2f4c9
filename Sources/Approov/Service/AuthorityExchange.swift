import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

/// Sends one request to the authority, bounds the answer, and translates failures.
final class AuthorityExchange: Sendable {
    /// The most bytes of an answer: the configurations a client may have missed, plus 1 MiB for the rest.
    static let maximumAnswerBytes = ConfigurationState.maximumSerializedBytes + 1 << 20
    /// The largest header section of an answer, in bytes.
    private static let maximumHeaderBytes = 16_384
    /// How long connecting may take, and each wait for the authority.
    private static let idleTimeout: Duration = .seconds(10)
    /// The longest pause that the client accepts from a Retry-After header.
    static let longestHold: Duration = .seconds(60)

    /// An answer with an expected status.
    struct Answer {
        let status: Int
        let json: JSONValue?
    }

    private let base: String
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let options: TransferOptions
    private let backoff: AuthorityBackoff

    init(
        authority: URL, transport: any HTTPTransport, time: any TimeSource, backoff: AuthorityBackoff, timeout: Duration,
        proxy: ProxyConfiguration?
    ) {
        var base = authority.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.transport = transport
        self.time = time
        self.backoff = backoff
        var options = TransferOptions()
        options.connectTimeout = min(Self.idleTimeout, timeout)
        options.idleTimeout = min(Self.idleTimeout, timeout)
        options.totalTimeout = timeout
        options.maximumHeaderBytes = Self.maximumHeaderBytes
        options.maximumBodyBytes = Self.maximumAnswerBytes
        // Repeating is safe: if the first copy used up the challenge, the answer is challenge-used, and the client asks for a new one.
        options.isIdempotent = true
        options.proxy = proxy
        self.options = options
    }

    /// Sends a request and reads the whole answer.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path and query, relative to the authority's URL.
    ///   - body: The content.
    ///   - mediaType: The media type of the content.
    ///   - policy: The trust policy for the authority's server.
    ///   - accepting: Expected statuses other than 200; their content is not read.
    /// - Returns: The answer.
    /// - Throws: ``AuthorityFailure``; at once during a pause that the authority asked for.
    func send(
        _ method: HTTPRequest.Method, _ path: String, body: [UInt8]? = nil, mediaType: String? = nil, policy: TrustPolicy,
        accepting: Set<Int> = []
    ) async throws(AuthorityFailure) -> Answer {
        try backoff.check(.exchange)
        do {
            var fields = HTTPFields()
            fields[.accept] = "application/json, \(Problem.mediaType)"
            if let mediaType { fields[.contentType] = mediaType }
            let response = try await transport.send(
                TransportRequest(
                    url: try TransportURL(base + path), method: method, headerFields: fields,
                    body: body.map(RequestBody.bytes) ?? .none, policy: policy, options: options))
            if accepting.contains(response.status) { return Answer(status: response.status, json: nil) }
            let isProblem = response.status != 200
            let bytes: [UInt8]
            do {
                bytes = try await response.body.collect(upTo: isProblem ? Problem.maximumBytes : Self.maximumAnswerBytes)
            } catch let error as TransportError where isProblem && error.code == .bodyTooLarge {
                // The page of a server in between: its status and its Retry-After count all the same.
                bytes = []
            }
            guard !isProblem else { throw refusal(response, bytes) }
            guard response.headerFields.mediaType == "application/json" else {
                throw AuthorityFailure.notAnAuthority("its response is not JSON")
            }
            return Answer(status: response.status, json: try JSONValue(reading: bytes, limit: Self.maximumAnswerBytes))
        } catch {
            throw AuthorityFailure(error)
        }
    }

    private func refusal(_ response: TransportResponse, _ bytes: [UInt8]) -> AuthorityFailure {
        var problem: Problem?
        if response.headerFields.mediaType == Problem.mediaType, let json = try? JSONValue(reading: bytes, limit: Problem.maximumBytes) {
            problem = try? Problem(json: json)
        }
        var retryAfter: Duration?
        if response.status == 429 || response.status == 503 {
            retryAfter = response.headerFields[.retryAfter].flatMap { RetryAfter.duration($0, now: time.date) }
                .map { min(max($0, .seconds(1)), Self.longestHold) }
        }
        if let retryAfter { backoff.held(for: retryAfter) }
        return AuthorityFailure(httpStatus: response.status, problem: problem, retryAfter: retryAfter)
    }
}
