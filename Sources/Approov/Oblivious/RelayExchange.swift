import ApproovBase
import Attestation
import HTTPClient
import HTTPTypes
import OHTTP

/// Sends the outer request: a POST to the relay that reveals nothing about the caller.
struct RelayExchange: Sendable {
    /// The maximum size in bytes of a response that is not encapsulated.
    static let maximumProblemBytes = Problem.maximumBytes

    let transport: any HTTPTransport
    let relay: TransportURL
    /// The same for all users.
    let userAgent: String

    /// The reason why the gateway did not open the request, stated outside of the encapsulation.
    ///
    /// It is not authenticated: the relay may have written it although the gateway has served the request.
    enum Refusal: Error {
        /// The gateway does not accept the key; it may accept a newer one.
        case key
        /// The gateway does not understand the form of the message.
        case form(status: Int)
        /// Another status: the relay or the gateway may be busy, unavailable, or not an OHTTP server at all.
        case other(status: Int)
    }

    /// Sends an encapsulated request.
    ///
    /// - Parameters:
    ///   - body: The encapsulated request.
    ///   - isChunked: Whether it is in chunks.
    ///   - request: The inner request, for its timeouts, proxy and trust policy.
    ///   - onUpload: Called with the number of bytes of the encapsulated request sent so far.
    /// - Returns: The encapsulated response.
    /// - Throws: ``Refusal`` for any status other than 2xx; ``ApproovError`` with code `obliviousError` when the response is not
    ///   encapsulated; any error of the transport.
    func send(
        _ body: RequestBody, isChunked: Bool, for request: TransportRequest, onUpload: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> TransportResponse {
        var options = request.options
        // If the transport resent it after a broken connection, the request could reach the host twice (RFC 9458, section 8.1).
        options.isIdempotent = false
        options.decompresses = false
        // The limit is for the body inside. The caller and ChunkedResponseReader bound what is around it.
        options.maximumBodyBytes = nil
        options.onUpload = onUpload
        options.onDownload = nil
        var fields = isChunked ? OHTTPMediaType.chunkedFields(OHTTPMediaType.chunkedRequest) : [.contentType: OHTTPMediaType.request]
        fields[.userAgent] = userAgent
        let response = try await transport.send(
            TransportRequest(url: relay, method: .post, headerFields: fields, body: body, policy: request.policy, options: options))
        guard (200..<300).contains(response.status) else { throw try await refusal(response, isChunked: isChunked) }
        guard response.headerFields.mediaType == (isChunked ? OHTTPMediaType.chunkedResponse : OHTTPMediaType.response) else {
            throw ApproovError(
                .obliviousError,
                "the relay \(relay.host) did not answer with an encapsulated response: check that its URL is that of an OHTTP relay")
        }
        return response
    }

    private func refusal(_ response: TransportResponse, isChunked: Bool) async throws -> Refusal {
        // A widely used gateway answers 401 to a key that it does not know.
        if response.status == 401 { return .key }
        if response.status == 400, response.headerFields.mediaType == Problem.mediaType {
            let bytes = try await response.body.collect(upTo: Self.maximumProblemBytes)
            if Problem.type(in: bytes) == OHTTPProblemType.key { return .key }
        }
        if isChunked, [400, 415, 422].contains(response.status) { return .form(status: response.status) }
        return .other(status: response.status)
    }

    /// Returns the caller's error for an unexpected status.
    static func unexpected(_ status: Int, from relay: TransportURL, isChunked: Bool) -> ApproovError {
        ApproovError(
            .obliviousError,
            "the relay \(relay.host), or the gateway behind it, answered \(status) instead of an encapsulated response"
                + remedy(for: status, isChunked: isChunked))
    }

    /// Returns the remedy that the status suggests; empty for other statuses.
    private static func remedy(for status: Int, isChunked: Bool) -> String {
        switch status {
        case 404: ": check the path of the relay's URL here, and of the gateway's URL at the relay"
        case 413 where isChunked: ": the request is larger than one of them accepts; send less at once"
        case 413: ": the request is larger than one of them accepts whole; send less at once, or use a gateway that understands chunks"
        case 429: ": too many requests at once from this address; send fewer, or try again later"
        case 502, 503, 504: ": one of them could not reach the next; try again later"
        default: ""
        }
    }
}
