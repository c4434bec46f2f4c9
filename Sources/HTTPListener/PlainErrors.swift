package import Hummingbird
internal import HTTPTypes
internal import NIOCore

/// Says what is not there, and which method is, in the form of every other error.
package struct PlainErrors<Context: RequestContext>: RouterMiddleware {
    private let methods: [String: String]

    /// Makes the middleware.
    /// - Parameter methods: the method of each path that there is
    package init(methods: [String: String]) {
        self.methods = methods
    }

    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            guard let method = methods[request.uri.path] else { return .problem(.notFound) }
            var response = Response.problem(.methodNotAllowed)
            response.headers[.allow] = method
            return response
        }
    }
}

extension Response {
    /// Problem details (RFC 9457 section 4.2.1) that say no more than the status does.
    package static func problem(_ status: HTTPResponse.Status) -> Response {
        problem(status, Array(#"{"status":\#(status.code),"title":"\#(status.reasonPhrase)"}"#.utf8))
    }

    /// Problem details as they are.
    package static func problem(_ status: HTTPResponse.Status, _ bytes: [UInt8]) -> Response {
        Response(
            status: status, headers: [.contentType: "application/problem+json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// What a server answers to `GET /health`.
    package static var healthy: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"status":"ok"}"#)))
    }
}
