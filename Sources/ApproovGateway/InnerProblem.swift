internal import ApproovBase
internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import OHTTP

/// A problem that the gateway itself reports inside of the encapsulation.
///
/// It uses problem details (RFC 9457) and reveals nothing internal.
struct InnerProblem: Error, Sendable, Equatable {
    let details: ProblemDetails

    static let malformed = InnerProblem(status: 400, title: "The encapsulated message is not a request in Binary HTTP (RFC 9292)")
    static let impossible = InnerProblem(
        status: 400, title: "The request cannot be sent to its target",
        detail: "A header field or the path is malformed, or the request has content that its method does not allow.")
    static let date = InnerProblem(
        status: 400, title: "The request's Date is missing or too far from the gateway's clock", type: OHTTPProblemType.date,
        detail: "Encapsulate the request again with the Date of this response.")
    static let forbidden = InnerProblem(
        status: 403, title: "The gateway does not forward to this target", detail: "The gateway's operator allows origins with --allow.")
    static let unusableTarget = InnerProblem(
        status: 403, title: "The gateway does not forward to this target",
        detail: "The path must begin with a slash and have no fragment, Host must be the origin's, and the method must not be CONNECT.")
    static let busy = InnerProblem(status: 503, title: "The gateway cannot serve more requests now", detail: "Try again in a minute.")
    static let tooFarAhead = InnerProblem(
        status: 503, title: "The request's Date is ahead of the gateway's clock, and the gateway cannot remember more such requests",
        detail: "Set the clock right.")
    static let stalled = InnerProblem(status: 408, title: "The request's content stopped arriving")
    static let chunkTooLarge = InnerProblem(
        status: 413, title: "A chunk of the request is too large", type: OHTTPProblemType.chunkTooLarge,
        detail: "Send chunks of at most \(ChunkedRequestReader.chunkBytes) bytes each; 16384 bytes suit every gateway. "
            + "Or send the message whole, with the media type \(OHTTPMediaType.request).")
    static let contentTooLarge = requestTooLarge("the content exceeds the limit chunkedMessageBytes")
    static let responseTooLarge = InnerProblem(
        status: 502, title: "The response is too large to be encapsulated whole", type: OHTTPProblemType.responseTooLarge,
        detail: "Send the request as message/ohttp-chunked-req; the gateway then encapsulates the response in chunks.")
    static let badGateway = InnerProblem(status: 502, title: "The target gave no usable response")
    static let gatewayTimeout = InnerProblem(status: 504, title: "The target took too long")

    /// Converts an error from forwarding a request.
    init(_ error: any Error) {
        switch error {
        case let problem as InnerProblem: self = problem
        case let error as TransportError:
            switch error.code {
            case .connectTimeout, .idleTimeout, .totalTimeout: self = .gatewayTimeout
            case .tooManyRequests: self = .busy
            // Only the request can cause these: the operator configures the target URL and options, and the gateway checks them when it
            // starts.
            case .invalidURL, .invalidHeader, .unsupported: self = .impossible
            case .bodyTooLarge: self = .responseTooLarge
            case .requestBodyFailed: self = error.cause.map { InnerProblem($0) } ?? .malformed
            default: self = .badGateway
            }
        case is BorrowedRequestBody.TooLong: self = .contentTooLarge
        case is BorrowedRequestBody.Stalled: self = .stalled
        case is ChunkedRequestReader.ChunkTooLarge: self = .chunkTooLarge
        // The message names the part and its limit, and nothing of the request.
        case let error as OHTTPError where error.code == .limitExceeded: self = .requestTooLarge(error.message)
        case is OHTTPError: self = .malformed
        default: self = .malformed
        }
    }

    /// A part of the request exceeds its limit.
    ///
    /// - Parameter part: What exceeds which limit, beginning with a lower-case letter.
    /// - Returns: The problem.
    private static func requestTooLarge(_ part: String) -> InnerProblem {
        InnerProblem(
            status: 413, title: "The request is too large",
            detail: "It is refused because \(part). Send less in that part, or ask the gateway's operator about its limits.")
    }

    private init(status: Int, title: String, type: String? = nil, detail: String? = nil) {
        details = ProblemDetails(type: type, status: status, title: title, detail: detail)
    }

    /// The problem as a Binary HTTP response.
    /// - Parameters:
    ///   - now: The gateway's time, which a client may need to date its next request.
    ///   - window: The greatest age of a date that the gateway accepts, in whole seconds; a problem with a date states it.
    /// - Returns: Problem details with a `Date` field.
    func response(at now: Date, window: Int) -> BinaryHTTPResponse {
        var content = details.serialized()
        if details.type == OHTTPProblemType.date {
            // A member for clients of this package (RFC 9457, section 3.2), in place of the closing brace.
            content.removeLast()
            content += ",\"window\":\(window)}".utf8
        }
        let fields: HTTPFields = [
            .contentType: ProblemDetails.mediaType, .cacheControl: "no-store", .date: HTTPDate.format(now),
        ]
        return BinaryHTTPResponse(
            head: HTTPResponse(status: .init(code: details.status), headerFields: fields), body: Data(content))
    }
}
