package import ApproovBase
package import HTTPTypes
package import Hummingbird
internal import NIOCore

extension Response {
    /// Problem details (RFC 9457, section 4.2.1) that say no more than the status.
    package static func problem(_ status: HTTPResponse.Status) -> Response {
        problem(ProblemDetails(status: status.code, title: status.reasonPhrase))
    }

    /// Makes a response from problem details.
    ///
    /// - Parameter details: The problem details; the response has their status.
    /// - Returns: The response, which no cache may store.
    package static func problem(_ details: ProblemDetails) -> Response {
        problem(.init(code: details.status), details.serialized())
    }

    /// Makes a response from problem details that are given as bytes.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - bytes: The problem details, in JSON.
    /// - Returns: The response, which no cache may store.
    package static func problem(_ status: HTTPResponse.Status, _ bytes: [UInt8]) -> Response {
        Response(
            status: status, headers: [.contentType: ProblemDetails.mediaType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The answer to `GET /health`.
    package static var healthy: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"status":"ok"}"#)))
    }
}
