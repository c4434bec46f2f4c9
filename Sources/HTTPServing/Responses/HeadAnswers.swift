package import Hummingbird
internal import HTTPTypes

/// Removes the content of the answers to HEAD requests, and keeps their header fields (RFC 9110, section 9.3.2).
///
/// Add it to a router before all other middleware: a client takes the content of any answer to HEAD, also of an error, for the start of the
/// next answer.
package struct HeadAnswers<Context: RequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}
