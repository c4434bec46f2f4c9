internal import ApproovBase
internal import Attestation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// Turns whatever a handler throws into application/problem+json (RFC 9457) that says nothing of the authority's insides.
struct ProblemMiddleware: RouterMiddleware {
    let metrics: AuthorityMetrics

    func handle(
        _ request: Request, context: ConnectionContext, next: (Request, ConnectionContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPParserError {
            // Hummingbird answers these itself, with 400, and closes the connection.
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
            context.logger.error("the authority failed", metadata: ["error": "\(error)"])
            return Self.response(.internalError)
        } catch {
            // Its text may quote what came in, so only its type is written down.
            context.logger.error("the authority failed", metadata: ["error": "\(type(of: error))"])
            return Self.response(.internalError)
        }
    }

    private static func response(_ problem: Problem, retryAfter seconds: Int? = nil) -> Response {
        var response = Response.json(problem.json, status: .init(code: problem.status), mediaType: Problem.mediaType)
        if let seconds { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}

/// An address has asked too often.
struct RateLimited: Error {
    /// Seconds after which to ask again.
    let seconds: Int
}

extension Response {
    /// A JSON answer that no cache keeps.
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok, mediaType: String = "application/json") -> Response {
        let headers: HTTPFields = [.contentType: mediaType, .cacheControl: "no-store"]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.serialized())))
    }
}
