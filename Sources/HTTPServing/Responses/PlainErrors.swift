package import Hummingbird
internal import HTTPTypes

/// Answers unknown paths with 404, and known paths with a wrong method with 405, in the form of every other error.
package struct PlainErrors<Context: RequestContext>: RouterMiddleware {
    private let methods: [String: String]

    /// Makes the middleware.
    ///
    /// - Parameter methods: The method of each known path.
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
            // A router that answers GET answers HEAD, too.
            response.headers[.allow] = method == "GET" ? "GET, HEAD" : method
            return response
        }
    }
}
