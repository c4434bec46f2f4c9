internal import ApproovBase
internal import Attestation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// Converts errors of handlers into application/problem+json (RFC 9457) that reveals nothing internal.
struct ProblemMiddleware: RouterMiddleware {
    let metrics: AuthorityMetrics
    let time: any TimeSource
    /// A client can cause failures, for example by breaking off in the middle of its request.
    private let failures = LogAllowance()

    init(metrics: AuthorityMetrics, time: any TimeSource) {
        self.metrics = metrics
        self.time = time
    }

    func handle(
        _ request: Request, context: ConnectionContext, next: (Request, ConnectionContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPParserError {
            // Hummingbird answers these itself with 400, and closes the connection.
            throw error
        } catch let limited as RateLimited {
            metrics.refusedUnjudged()
            return Self.response(.rateLimited, retryAfter: limited.seconds)
        } catch let problem as Problem {
            metrics.refusedUnjudged()
            return Self.response(problem)
        } catch is NIOTooManyBytesError {
            metrics.refusedUnjudged()
            return Self.response(.bodyTooLarge)
        } catch let error as HTTPError where error.status == .notFound {
            return Self.response(.notFound)
        } catch let error as AuthorityError {
            failures.log(.error, "the authority failed", to: context.logger, at: time.uptime, metadata: ["error": "\(error)"])
            return Self.response(.internalError)
        } catch is CancellationError {
            // The client is gone, and nothing failed.
            return Self.response(.internalError)
        } catch {
            // The error's text may quote the request, so only its type is logged.
            failures.log(.error, "the authority failed", to: context.logger, at: time.uptime, metadata: ["error": "\(type(of: error))"])
            return Self.response(.internalError)
        }
    }

    private static func response(_ problem: Problem, retryAfter seconds: Int? = nil) -> Response {
        var response = Response.problem(problem.details)
        if let seconds { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}

extension Response {
    /// A JSON response that must not be cached.
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok, mediaType: String = "application/json") -> Response {
        json(ByteBuffer(bytes: value.serialized()), status: status, mediaType: mediaType)
    }

    /// A JSON response of bytes that exist already; it must not be cached.
    static func json(
        _ bytes: ByteBuffer, status: HTTPResponse.Status = .ok, mediaType: String = "application/json"
    ) -> Response {
        let headers: HTTPFields = [.contentType: mediaType, .cacheControl: "no-store"]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }
}
