import ApproovBase
import Attestation
import HTTPClient
import HTTPTypes
import OHTTP

/// The outer request: a POST to the relay that says nothing about the caller.
struct RelayExchange: Sendable {
    /// The most bytes of an answer that is not encapsulated.
    static let maximumProblemBytes = 16 << 10

    let transport: any HTTPTransport
    let relay: TransportURL
    /// The same for everyone.
    let userAgent: String

    /// Why the gateway did not open the request, told outside of the encapsulation.
    ///
    /// Nobody has signed that: the relay may have written it although the gateway has served the request.
    enum Refusal: Error {
        /// It does not accept the key, and a newer key may be accepted.
        case key
        /// It does not understand the form of the message.
        case form(status: Int)
        /// Something else: the relay, or the gateway, may be busy, or away, or none.
        case other(status: Int)
    }

    /// Sends an encapsulated request.
    ///
    /// - Parameters:
    ///   - body: The encapsulated request.
    ///   - isChunked: Whether it is in chunks.
    ///   - request: The request inside, for its timeouts, its proxy and its trust policy.
    ///   - onUpload: Called with the bytes of the encapsulated request that have gone out.
    /// - Returns: The encapsulated response.
    /// - Throws: ``Refusal``; ``ApproovError`` `obliviousError` for an answer that is no encapsulated response; what the transport throws.
    func send(
        _ body: RequestBody, isChunked: Bool, for request: TransportRequest, onUpload: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> TransportResponse {
        var options = request.options
        // Sent again on a connection that died, a request could reach the host twice (RFC 9458 section 8.1).
        options.isIdempotent = false
        options.decompresses = false
        options.maximumBodyBytes = nil
        options.onUpload = onUpload
        options.onDownload = nil
        var fields = isChunked ? OHTTPMediaType.chunkedFields(OHTTPMediaType.chunkedRequest) : [.contentType: OHTTPMediaType.request]
        fields[.userAgent] = userAgent
        let response = try await transport.send(
            TransportRequest(url: relay, method: .post, headerFields: fields, body: body, policy: request.policy, options: options))
        guard (200..<300).contains(response.status) else { throw try await refusal(response, isChunked: isChunked) }
        guard response.headerFields.mediaType == (isChunked ? OHTTPMediaType.chunkedResponse : OHTTPMediaType.response) else {
            throw ApproovError(.obliviousError, "the relay \(relay.host) answered something that is no encapsulated response")
        }
        return response
    }

    private func refusal(_ response: TransportResponse, isChunked: Bool) async throws -> Refusal {
        // 401 is what a widely used gateway answers to a key that it does not know.
        if response.status == 401 { return .key }
        if response.status == 400, response.headerFields.mediaType == Problem.mediaType {
            let bytes = try await response.body.collect(upTo: Self.maximumProblemBytes)
            let problem = try? JSONValue(parsing: bytes, limit: Self.maximumProblemBytes).object()
            if problem?["type"] == .string(OHTTPProblemType.key) { return .key }
        }
        if isChunked, [400, 415, 422].contains(response.status) { return .form(status: response.status) }
        return .other(status: response.status)
    }

    /// What an answer of another status is to the caller.
    static func unexpected(_ status: Int, from relay: TransportURL, isChunked: Bool) -> ApproovError {
        ApproovError(
            .obliviousError,
            "the relay \(relay.host), or the gateway behind it, answered \(status) instead of an encapsulated response"
                + remedy(for: status, isChunked: isChunked))
    }

    /// What to do about an answer, where its status says so.
    private static func remedy(for status: Int, isChunked: Bool) -> String {
        switch status {
        case 404: ": the path is wrong of the relay's URL here, or of the gateway's URL there"
        case 413 where isChunked: ": the request is larger than one of them takes; send less at once"
        case 413: ": the request is larger than one of them takes whole; send less at once, or use a gateway that knows chunks"
        case 429: ": too many requests at once from this address; send fewer, or try again later"
        case 502, 503, 504: ": one of them could not reach the next; try again later"
        default: ""
        }
    }
}
